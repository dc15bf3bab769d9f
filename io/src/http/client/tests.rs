//! The client against servers on this machine.

use super::*;
use hyper_util::client::proxy::matcher::Matcher;
use std::net::SocketAddr;
use std::sync::Mutex;
use stepwell_core::dialect::HttpRequest;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The requests that a server got, as they came over the wire, each with the number of its connection.
type Seen = Arc<Mutex<Vec<(usize, String)>>>;

/// A server that answers each request by the function `answer`.
struct Server {
    address: SocketAddr,
    seen: Seen,
}

impl Server {
    async fn start(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let seen = Seen::default();
        let (answer, noted) = (Arc::new(answer), Arc::clone(&seen));
        tokio::spawn(async move {
            for number in 0.. {
                let (stream, _) = listener.accept().await.expect("a connection");
                tokio::spawn(serve(
                    stream,
                    number,
                    Arc::clone(&answer),
                    Arc::clone(&noted),
                ));
            }
        });
        Self { address, seen }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn seen(&self) -> Vec<(usize, String)> {
        self.seen.lock().expect("no panic").clone()
    }

    fn lines(&self) -> Vec<String> {
        let seen = self.seen();
        let lines = seen.iter().map(|(_, request)| request.lines().next());
        lines
            .map(|line| line.unwrap_or_default().to_owned())
            .collect()
    }
}

async fn serve(
    mut stream: TcpStream,
    number: usize,
    answer: Arc<impl Fn(&str) -> String>,
    seen: Seen,
) {
    loop {
        let mut request = Vec::new();
        while !is_whole(&request) {
            match stream.read_buf(&mut request).await {
                Ok(1..) => {}
                _ => return,
            }
        }
        let request = String::from_utf8(request).expect("text");
        let answer = answer(&request);
        seen.lock().expect("no panic").push((number, request));
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.lines().find_map(|line| {
        let value = line.strip_prefix("content-length: ")?;
        value.parse::<usize>().ok()
    });
    body.len() >= length.unwrap_or_default()
}

fn ok(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn redirect(status: u16, to: &str) -> String {
    format!("HTTP/1.1 {status} Elsewhere\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n")
}

fn post(url: String) -> HttpRequest {
    HttpRequest {
        method: "POST",
        url,
        headers: vec![("authorization".to_owned(), "Bearer key".to_owned())],
        body: b"the conversation".to_vec(),
    }
}

fn client(proxies: Matcher) -> HttpClient {
    HttpClient::of(Pool::with(proxies, |_| {}).expect("a client"))
}

/// The tests ignore the proxies in the environment.
fn plain() -> HttpClient {
    client(Matcher::builder().build())
}

#[tokio::test]
async fn streams_a_body_and_reuses_the_connection() {
    let server = Server::start(|_| {
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
            .to_owned()
    })
    .await;
    let client = plain();
    for _ in 0..2 {
        let response = client
            .send(post(server.url("/v1")))
            .await
            .expect("an answer");
        let pieces: Vec<_> = response.into_body().collect().await;
        let pieces: Vec<_> = pieces
            .into_iter()
            .map(|piece| piece.expect("whole"))
            .collect();
        assert_eq!(pieces, ["abc", "de"]);
    }
    let seen = server.seen();
    assert_eq!(
        seen.iter().map(|(number, _)| *number).collect::<Vec<_>>(),
        [0, 0]
    );
    let request = &seen[0].1;
    assert!(request.starts_with("POST /v1 HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("\r\naccept: */*\r\n"), "{request}");
    assert!(
        request.contains("\r\nauthorization: Bearer key\r\n"),
        "{request}"
    );
    assert!(request.ends_with("\r\n\r\nthe conversation"), "{request}");
}

#[tokio::test]
async fn sets_a_missing_user_agent() {
    let server = Server::start(|_| ok("hello")).await;
    let version = env!("CARGO_PKG_VERSION");
    let rust = plain();
    let dart = HttpClient::for_language("Dart").expect("a client");
    let odd = HttpClient::for_language("a\nb").expect("a client");
    for client in [&rust, &dart, &odd] {
        client
            .exchange(post(server.url("/")))
            .await
            .expect("an answer");
    }
    let mut own = post(server.url("/"));
    let header = ("user-agent".to_owned(), "mine/1".to_owned());
    own.headers.push(header);
    rust.exchange(own).await.expect("an answer");
    let named: Vec<_> = server
        .seen()
        .into_iter()
        .filter_map(|(_, request)| {
            let line = request
                .lines()
                .find_map(|line| line.strip_prefix("user-agent: "));
            line.map(str::to_owned)
        })
        .collect();
    assert_eq!(
        named,
        [
            format!("stepwell/{version} (Rust)"),
            format!("stepwell/{version} (Dart)"),
            format!("stepwell/{version}"),
            "mine/1".to_owned(),
        ]
    );
}

#[tokio::test]
async fn reports_causes_without_the_address() {
    let sent = plain()
        .send(post("http://127.0.0.1:2/hush".to_owned()))
        .await;
    let error = sent.err().expect("nobody is there").to_string();
    assert!(error.starts_with("could not connect: "), "{error}");
    assert!(error.contains("refused"), "{error}");
    assert!(!error.contains("hush"), "{error}");

    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let cut = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut some = [0; 16];
        stream.read_exact(&mut some).await.expect("a request");
        let begun = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc";
        stream.write_all(begun).await.expect("it is read");
    });
    let failed = plain().exchange(post(format!("http://{cut}/"))).await;
    let error = failed.expect_err("it ends too early").to_string();
    assert!(error.starts_with("the body broke off: "), "{error}");

    let mut request = post("http://127.0.0.1:2/".to_owned());
    request
        .headers
        .push(("x-key".to_owned(), "hush\n".to_owned()));
    let error = plain().exchange(request).await.expect_err("no header");
    assert!(
        error.to_string().starts_with("the request is malformed: "),
        "{error}"
    );
    assert!(!error.to_string().contains("hush"), "{error}");
}

#[tokio::test]
async fn repeats_the_request_after_a_redirect_to_the_same_server() {
    for status in [307, 308] {
        let server = Server::start(move |request| {
            if request.starts_with("POST /old ") {
                redirect(status, "/new?a=1")
            } else {
                ok("here")
            }
        })
        .await;
        let answer = plain().exchange(post(server.url("/old"))).await;
        assert_eq!(answer.expect("an answer"), (200, b"here".to_vec()));
        let seen = server.seen();
        assert_eq!(server.lines()[1], "POST /new?a=1 HTTP/1.1");
        for (_, request) in seen {
            assert!(
                request.contains("\r\nauthorization: Bearer key\r\n"),
                "{request}"
            );
            assert!(request.ends_with("\r\n\r\nthe conversation"), "{request}");
        }
    }
}

#[tokio::test]
async fn reports_redirects_that_are_not_followed() {
    let other = Server::start(|_| ok("stolen")).await;
    let elsewhere = other.url("/");
    let server = Server::start(move |request| {
        let status = request
            .split(['/', ' '])
            .nth(2)
            .and_then(|it| it.parse().ok());
        redirect(status.expect("a status"), &elsewhere)
    })
    .await;
    for status in [301, 302, 303, 307, 308] {
        let asked = post(server.url(&format!("/{status}")));
        let (answered, body) = plain().exchange(asked).await.expect("an answer");
        assert_eq!(answered, status);
        let body: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
        let message = body["error"]["message"].as_str().expect("a message");
        assert!(message.contains("the server redirects"), "{message}");
    }
    assert_eq!(server.seen().len(), 5);
    assert_eq!(other.seen().len(), 0);
}

#[tokio::test]
async fn ends_circular_redirects() {
    let server = Server::start(|_| redirect(307, "/again")).await;
    let (status, _) = plain()
        .exchange(post(server.url("/")))
        .await
        .expect("an answer");
    assert_eq!(status, 307);
    assert_eq!(server.seen().len(), 11);
}

#[tokio::test]
async fn sends_a_proxy_the_full_address_and_its_credentials() {
    let proxy = Server::start(|_| ok("from the proxy")).await;
    let named = format!("http://ada:secret@{}", proxy.address);
    let matcher = || Matcher::builder().http(named.clone()).no("direct.example");
    let answer = client(matcher().build())
        .exchange(post("http://model.example/v1".to_owned()))
        .await;
    assert_eq!(
        answer.expect("an answer"),
        (200, b"from the proxy".to_vec())
    );
    let request = proxy.seen().remove(0).1;
    assert!(
        request.starts_with("POST http://model.example/v1 HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(
        request.contains("\r\nproxy-authorization: Basic YWRhOnNlY3JldA==\r\n"),
        "{request}"
    );
    assert!(request.contains("\r\nhost: model.example\r\n"), "{request}");

    let server = Server::start(|_| ok("directly")).await;
    let excepted = matcher().no("127.0.0.1").build();
    let answer = client(excepted).exchange(post(server.url("/v1"))).await;
    assert_eq!(answer.expect("an answer"), (200, b"directly".to_vec()));
    let request = server.seen().remove(0).1;
    assert!(request.starts_with("POST /v1 HTTP/1.1\r\n"), "{request}");
    assert!(!request.contains("proxy-authorization"), "{request}");
    assert_eq!(proxy.seen().len(), 1);
}

#[tokio::test]
async fn names_an_unsupported_proxy() {
    let matcher = Matcher::builder().all("socks5://127.0.0.1:9").build();
    let asked = post("http://model.example/".to_owned());
    let answer = client(matcher).exchange(asked).await;
    let error = answer.expect_err("no such proxy").to_string();
    assert!(
        error.contains("proxies with socks5:// are not supported"),
        "{error}"
    );
}

#[cfg(feature = "tls")]
#[tokio::test]
async fn tunnels_https_through_a_proxy() {
    let proxy = Server::start(|_| "HTTP/1.1 403 Forbidden\r\n\r\n".to_owned()).await;
    let named = format!("http://ada:secret@{}", proxy.address);
    let matcher = Matcher::builder().https(named).build();
    let asked = post("https://model.example/v1".to_owned());
    let answer = client(matcher).exchange(asked).await;
    let error = answer.expect_err("it does not").to_string();
    assert!(
        error.starts_with("could not connect: tunnel error"),
        "{error}"
    );
    let request = proxy.seen().remove(0).1;
    assert!(
        request.starts_with("CONNECT model.example:443 HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(
        request.contains("Proxy-Authorization: Basic YWRhOnNlY3JldA==\r\n"),
        "{request}"
    );
    // Only the server may get the conversation and the key.
    assert!(!request.contains("Bearer key"), "{request}");
    assert!(!request.contains("the conversation"), "{request}");
}

#[cfg(feature = "reqwest")]
#[tokio::test]
async fn accepts_a_reqwest_client() {
    let server = Server::start(|request| {
        if request.starts_with("POST /old ") {
            redirect(307, "/new")
        } else {
            ok("here")
        }
    })
    .await;
    let own = ::reqwest::Client::builder()
        .no_proxy()
        .redirect(::reqwest::redirect::Policy::none())
        .build();
    let client = HttpClient::from(own.expect("a client"));
    let answer = client.exchange(post(server.url("/new"))).await;
    assert_eq!(answer.expect("an answer"), (200, b"here".to_vec()));
    let (status, body) = client
        .exchange(post(server.url("/old")))
        .await
        .expect("an answer");
    assert_eq!(status, 307);
    assert!(String::from_utf8_lossy(&body).contains("the server redirects"));
    let error = client.exchange(post("http://ho st/hush".to_owned())).await;
    let error = error.expect_err("no address").to_string();
    assert!(error.starts_with("the request is malformed: "), "{error}");
    assert!(!error.contains("hush"), "{error}");
}

#[tokio::test]
async fn lets_the_app_answer_requests() {
    let client = HttpClient::from_fn(|request: http::Request<Bytes>| async move {
        let headers = request.headers();
        let credentials = headers.get("authorization").cloned();
        let said = format!("{} {} {credentials:?}", request.method(), request.uri());
        let broken = std::io::Error::other(SendError::new("the line is cut"));
        let pieces = match request.uri().path() {
            "/cut" => vec![Ok(Bytes::from("half")), Err(broken)],
            "/away" => return Err(std::io::Error::other(SendError::new("nobody is there"))),
            _ => vec![Ok(Bytes::from(said)), Ok(request.into_body())],
        };
        let mut answer = http::Response::new(futures::stream::iter(pieces));
        *answer.status_mut() = http::StatusCode::ACCEPTED;
        Ok(answer)
    });
    let ask = |url: &str| client.exchange(post(url.to_owned()));
    let (status, body) = ask("https://model.example/v1?a=1")
        .await
        .expect("an answer");
    let body = String::from_utf8(body).expect("text");
    assert_eq!(status, 202);
    assert_eq!(
        body,
        "POST https://model.example/v1?a=1 Some(\"Bearer key\")the conversation"
    );
    let cut = ask("http://model.example/cut")
        .await
        .expect_err("it is cut");
    assert_eq!(cut.to_string(), "the line is cut");
    let away = ask("http://model.example/away").await.expect_err("away");
    assert_eq!(away.to_string(), "nobody is there");
    let mut request = post("http://ada:secret@model.example/v1".to_owned());
    request.headers.clear();
    let (_, body) = client.exchange(request).await.expect("an answer");
    let body = String::from_utf8(body).expect("text");
    assert!(
        body.starts_with("POST http://model.example/v1 Some(Sensitive)"),
        "{body}"
    );
    let error = ask("http://ho st/hush").await.expect_err("no address");
    assert!(!error.to_string().contains("hush"), "{error}");
}
