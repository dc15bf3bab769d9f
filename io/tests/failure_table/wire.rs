//! A peer below HTTP: it answers each connection with given bytes, and then ends it in a given way.

use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The end of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum End {
    /// In order.
    Close,
    /// By a reset, as a crashed peer or a firewall ends it.
    Reset,
    /// Not before the client ends it.
    Held,
}

/// Answers one connection after the other.
pub(crate) async fn peer(answers: Vec<(Vec<u8>, End)>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address: SocketAddr = listener.local_addr().expect("it has an address");
    tokio::spawn(async move {
        for (bytes, end) in answers {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            read_request(&mut stream).await;
            stream.write_all(&bytes).await.expect("the client listens");
            stream.flush().await.expect("the client listens");
            match end {
                End::Close => {}
                End::Reset => {
                    // The bytes must arrive first: the client shows that it has read them by closing or by waiting.
                    tokio::task::yield_now().await;
                    stream.set_zero_linger().expect("a TCP option");
                }
                End::Held => {
                    let rest = stream.read_buf(&mut Vec::new()).await;
                    assert_eq!(rest.unwrap_or_default(), 0, "the client closes it");
                }
            }
        }
    });
    format!("http://{address}")
}

/// Reads one request, head and body: an unread body would turn a close into a reset.
async fn read_request(stream: &mut TcpStream) {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read).to_ascii_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length:"))
                .and_then(|length| length.trim().parse().ok())
                .unwrap_or(0);
            if body.len() >= length {
                return;
            }
        }
        if stream.read_buf(&mut read).await.expect("the client writes") == 0 {
            return;
        }
    }
}

/// An answer with this head and this body, the body as it is on the wire.
pub(crate) fn answer(headers: &[&str], body: &str) -> Vec<u8> {
    let mut answer = "HTTP/1.1 200 OK\r\n".to_owned();
    for header in headers {
        answer.push_str(header);
        answer.push_str("\r\n");
    }
    answer.push_str("\r\n");
    answer.push_str(body);
    answer.into_bytes()
}

/// One chunk of a chunked body.
pub(crate) fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}
