use super::connection::{Connection, HEALTH_PATH};
use super::rooms::{Bounds, ConnectionSlot, Connections, RESERVED_CONNECTIONS};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::routing::{get, post};
use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

const HEADER: Duration = Duration::from_secs(10);
const IDLE: Duration = Duration::from_secs(75);

/// The length of an answer that no buffer on the way takes.
const LONG: usize = 1 << 20;

fn connections(most: usize) -> Arc<Connections> {
    Arc::new(Connections::new(Bounds {
        most,
        header_timeout: HEADER,
        idle_timeout: IDLE,
    }))
}

fn router() -> Router {
    let never = || async { Body::from_stream(futures::stream::pending::<io::Result<Bytes>>()) };
    let waits = || async {
        pending::<()>().await;
    };
    let endless = || async {
        let piece = || Ok::<_, io::Error>(Bytes::from_static(&[b'.'; 1024]));
        Body::from_stream(futures::stream::repeat_with(piece))
    };
    Router::new()
        .route("/", get(|| async { "here" }))
        .route(HEALTH_PATH, get(|| async { "well" }))
        .route("/long", get(|| async { vec![b'.'; LONG] }))
        .route("/endless", get(endless))
        .route("/", post(|body: Bytes| async move { body }))
        .route("/stream", get(never))
        .route("/wait", get(waits))
}

/// A client's side of a connection that is served.
fn connected(connections: &Arc<Connections>, closing: &CancellationToken) -> DuplexStream {
    let slot = connections.usual.free().map(|permit| ConnectionSlot {
        _permit: permit,
        is_reserved: false,
    });
    connected_at(connections, slot, closing)
}

fn connected_at(
    connections: &Arc<Connections>,
    slot: Option<ConnectionSlot>,
    closing: &CancellationToken,
) -> DuplexStream {
    let (client, server) = duplex(1 << 16);
    let connection = Connection::new(connections, slot);
    tokio::spawn(connection.serve(server, router(), closing.clone()));
    client
}

async fn ask(client: &mut DuplexStream, path: &str) {
    let head = format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n");
    client.write_all(head.as_bytes()).await.expect("it is sent");
}

async fn answered(client: &mut DuplexStream) {
    let mut answer = vec![0; 4096];
    let length = client.read(&mut answer).await.expect("an answer");
    let answer = String::from_utf8_lossy(&answer[..length]);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("content-length: 4"), "{answer}");
}

/// Waits until the server has closed the connection; time is paused, and passes while nothing else happens.
async fn closed(client: &mut DuplexStream) -> Duration {
    let begin = Instant::now();
    let mut rest = Vec::new();
    // The answer may be cut off.
    let _ = client.read_to_end(&mut rest).await;
    begin.elapsed()
}

#[tokio::test(start_paused = true)]
async fn a_connection_whose_headers_do_not_come_is_closed() {
    let connections = connections(2);
    let closing = CancellationToken::new();
    let mut silent = connected(&connections, &closing);
    let mut half = connected(&connections, &closing);
    half.write_all(b"GET / HTTP/1.1\r\nhost")
        .await
        .expect("sent");
    let (silent, half) = tokio::join!(closed(&mut silent), closed(&mut half));
    assert!(silent >= HEADER && silent < IDLE, "{silent:?}");
    assert!(half >= HEADER && half < IDLE, "{half:?}");
    assert_eq!(connections.usual.slots.available_permits(), 2);
    assert!(connections.usual.waiting().close.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_a_further_request_is_closed() {
    let connections = connections(1);
    let mut client = connected(&connections, &CancellationToken::new());
    for _ in 0..3 {
        ask(&mut client, "/").await;
        answered(&mut client).await;
        tokio::time::advance(IDLE / 2).await;
    }
    let idle = closed(&mut client).await;
    assert!(idle >= IDLE / 2 - HEADER && idle <= IDLE, "{idle:?}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_may_take_its_time() {
    let connections = connections(2);
    let closing = CancellationToken::new();
    for path in ["/stream", "/wait"] {
        let mut client = connected(&connections, &closing);
        ask(&mut client, path).await;
        let wait = tokio::time::timeout(IDLE * 100, closed(&mut client)).await;
        assert!(wait.is_err(), "{path}: closed after {wait:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_answer_may_be_read_slowly() {
    let connections = connections(1);
    let mut client = connected(&connections, &CancellationToken::new());
    ask(&mut client, "/long").await;
    let (mut piece, mut read) = (vec![0; 1 << 15], 0);
    while read < LONG {
        tokio::time::sleep(IDLE / 2).await;
        let length = client.read(&mut piece).await.expect("it is sent");
        assert_ne!(length, 0, "closed after {read} bytes");
        read += length;
    }
    let idle = closed(&mut client).await;
    assert!(idle >= IDLE / 2 && idle <= IDLE, "{idle:?}");
}

#[tokio::test(start_paused = true)]
async fn a_connection_whose_client_does_not_read_makes_room() {
    let connections = connections(2);
    let closing = CancellationToken::new();
    let mut reads = connected(&connections, &closing);
    ask(&mut reads, "/endless").await;
    let mut deaf = connected(&connections, &closing);
    ask(&mut deaf, "/endless").await;
    let mut piece = vec![0; 1 << 20];
    // Each has been answered as far as there is room for it; then the one is read, and answered further.
    tokio::time::sleep(HEADER).await;
    assert_ne!(reads.read(&mut piece).await.expect("an answer"), 0);
    tokio::time::sleep(HEADER).await;
    let slot = tokio::time::timeout(HEADER, connections.slot()).await;
    assert!(slot.expect("there is room").is_some());
    assert_eq!(closed(&mut deaf).await, Duration::ZERO);
    assert_ne!(reads.read(&mut piece).await.expect("more"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_connection_whose_client_does_not_send_its_body_makes_room() {
    let connections = connections(2);
    let closing = CancellationToken::new();
    let head = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\n";
    let mut sends = connected(&connections, &closing);
    sends.write_all(head).await.expect("it is sent");
    let mut idle = connected(&connections, &closing);
    idle.write_all(head).await.expect("it is sent");
    tokio::time::sleep(HEADER).await;
    sends.write_all(b"he").await.expect("it is sent");
    tokio::time::sleep(HEADER).await;
    assert!(connections.slot().await.is_some());
    assert_eq!(closed(&mut idle).await, Duration::ZERO);
    sends.write_all(b"re").await.expect("it is sent");
    answered(&mut sends).await;
}

#[tokio::test(start_paused = true)]
async fn the_connection_that_waits_longest_makes_room() {
    let connections = connections(3);
    let closing = CancellationToken::new();
    let mut busy = connected(&connections, &closing);
    ask(&mut busy, "/stream").await;
    let mut first = connected(&connections, &closing);
    let mut second = connected(&connections, &closing);
    // The server reads the busy one's request.
    tokio::task::yield_now().await;
    while connections.usual.waiting().close.len() > 2 {
        tokio::task::yield_now().await;
    }
    let slot = connections.slot().await;
    assert!(slot.is_some());
    assert_eq!(closed(&mut first).await, Duration::ZERO);
    assert!(closed(&mut second).await > Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_closes_answers_what_it_was_asked() {
    let connections = connections(2);
    let closing = CancellationToken::new();
    let mut idle = connected(&connections, &closing);
    ask(&mut idle, "/").await;
    answered(&mut idle).await;
    let mut busy = connected(&connections, &closing);
    ask(&mut busy, "/stream").await;
    let mut head = [0; 12];
    busy.read_exact(&mut head).await.expect("an answer");
    closing.cancel();
    assert_eq!(closed(&mut idle).await, Duration::ZERO);
    let wait = tokio::time::timeout(IDLE * 100, closed(&mut busy)).await;
    assert!(wait.is_err());
}

/// The head and the body of an answer after which the connection is closed.
async fn last_answer(client: &mut DuplexStream) -> String {
    let mut answer = String::new();
    let read = client.read_to_string(&mut answer).await;
    read.expect("an answer");
    answer
}

#[tokio::test(start_paused = true)]
async fn health_is_answered_where_all_connections_are_taken() {
    let connections = connections(2);
    let closing = CancellationToken::new();
    let mut busy = Vec::new();
    for _ in 0..2 {
        let mut client = connected(&connections, &closing);
        ask(&mut client, "/stream").await;
        let mut head = [0; 12];
        client.read_exact(&mut head).await.expect("an answer");
        busy.push(client);
    }
    // Silent connections do not help either.
    let mut silent = Vec::new();
    for _ in 0..3 * RESERVED_CONNECTIONS {
        let slot = tokio::time::timeout(HEADER, connections.slot()).await;
        let slot = slot.expect("at once").expect("a slot");
        assert!(slot.is_reserved);
        silent.push(connected_at(&connections, Some(slot), &closing));
    }
    let slot = connections.slot().await;
    let mut client = connected_at(&connections, slot, &closing);
    ask(&mut client, HEALTH_PATH).await;
    let answer = last_answer(&mut client).await;
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.ends_with("well"),
        "{answer}"
    );
    let slot = connections.slot().await;
    let mut client = connected_at(&connections, slot, &closing);
    ask(&mut client, "/").await;
    let answer = last_answer(&mut client).await;
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(answer.contains("too_many_connections"), "{answer}");
    let slot = connections.slot().await;
    let mut client = connected_at(&connections, slot, &closing);
    drop(busy.pop());
    while connections.usual.slots.available_permits() == 0 {
        tokio::task::yield_now().await;
    }
    ask(&mut client, "/").await;
    let answer = last_answer(&mut client).await;
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.ends_with("here"),
        "{answer}"
    );
}
