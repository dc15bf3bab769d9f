//! What happens below the JSON: chunks, cuts, stalls.

use std::time::{Duration, Instant};

use serde_json::json;
use stepwell_mock_llm::{Delivery, Hop, Script};

use crate::client::{
    ask, chat, client, question, raw_exchange, received, run, run_input, serve, start,
};

/// The sizes of the HTTP chunks of a raw response, and the body put together. `None` for the end when
/// the last chunk of size zero never came.
fn chunks(response: &[u8]) -> (Vec<usize>, Vec<u8>, Option<()>) {
    let head = response
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .expect("a head");
    let mut rest = &response[head + 4..];
    let (mut sizes, mut body) = (Vec::new(), Vec::new());
    while let Some(line) = rest.windows(2).position(|window| window == b"\r\n") {
        let size = std::str::from_utf8(&rest[..line]).expect("a size");
        let size = usize::from_str_radix(size, 16).expect("a size in hex");
        if size == 0 {
            return (sizes, body, Some(()));
        }
        sizes.push(size);
        body.extend_from_slice(&rest[line + 2..line + 2 + size]);
        rest = &rest[line + 2 + size + 2..];
    }
    (sizes, body, None)
}

async fn whole_body() -> Vec<u8> {
    let (bytes, whole) = received(ask(&serve(Hop::new().text("Hé日🎉")).await).await).await;
    assert!(whole);
    bytes
}

#[tokio::test]
async fn each_frame_is_an_http_chunk_of_its_own() {
    let server = serve(Hop::new().text("one two")).await;
    let (sizes, body, end) = chunks(&raw_exchange(&server, &question()).await);
    let frames: Vec<_> = body
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::len)
        .collect();
    let frames: Vec<_> = frames
        .chunks(2)
        .map(|lines| lines.iter().sum::<usize>())
        .collect();
    // The end of an answer (finish reason and [DONE]) goes out in one chunk.
    assert_eq!(sizes[..3], frames[..3]);
    assert_eq!(end, Some(()));
}

#[tokio::test]
async fn chunks_have_the_size_that_was_asked_for() {
    let whole = whole_body().await;
    for size in [0, 1, 7, 100, 1_000_000] {
        let server = serve(Hop::new().text("Hé日🎉").chunks_of(size)).await;
        let (sizes, body, end) = chunks(&raw_exchange(&server, &question()).await);
        assert_eq!(body, whole);
        assert_eq!(end, Some(()));
        let size = size.max(1);
        let (last, others) = sizes.split_last().unwrap();
        assert!(
            others.iter().all(|other| *other == size) && *last <= size,
            "{sizes:?}"
        );
    }
}

#[tokio::test]
async fn a_cut_body_is_an_error_to_the_client_after_all_that_was_sent() {
    let server = serve(Hop::new().text("Hello").cut().text("never")).await;
    let (bytes, whole) = received(ask(&server).await).await;
    assert!(!whole, "an aborted chunked body is an error");
    assert!(bytes.ends_with(b"\n\n"));
    let text = String::from_utf8(bytes).unwrap();
    assert!(
        text.contains(r#""content":"Hello""#) && !text.contains("never"),
        "{text}"
    );
    assert_eq!(server.requests()[0].delivery, Delivery::Cut);
}

#[tokio::test]
async fn a_body_can_be_cut_after_every_byte() {
    let whole = "data: Hé\n\ndata: 日\n\ndata: 🎉\n\n".as_bytes();
    let places = 0..whole.len() + 2;
    let cut = |script: Script, place| {
        script.hop(
            Hop::new()
                .bare()
                .raw_frame("Hé")
                .raw_frame("日")
                .raw_frame("🎉")
                .cut_at(place),
        )
    };
    let server = start(places.clone().fold(Script::new(), cut)).await;
    let client = client();
    for place in places {
        let url = format!("{}/chat/completions", server.base_url());
        let response = client
            .post(url)
            .body(question().to_string())
            .send()
            .await
            .unwrap();
        let (bytes, complete) = received(response).await;
        assert!(!complete);
        assert_eq!(bytes, whole[..place.min(whole.len())], "cut at {place}");
    }
}

#[tokio::test]
async fn a_cut_loses_nothing_of_a_long_body_that_is_read_late() {
    // More than the buffers of both ends hold.
    let text = "0123456789abcdef".repeat(1 << 20);
    let hop = Hop::new()
        .raw_bytes(text.clone())
        .bare()
        .cut()
        .chunks_of(10_000);
    let server = serve(hop).await;
    let response = ask(&server).await;
    tokio::task::yield_now().await;
    let (bytes, complete) = received(response).await;
    assert!(!complete);
    assert!(
        bytes == text.as_bytes(),
        "{} of {} bytes",
        bytes.len(),
        text.len()
    );
}

#[tokio::test]
async fn a_body_with_a_length_can_be_cut_too() {
    let server = serve(Hop::error(500, "A long message").cut_at(5)).await;
    let response = ask(&server).await;
    assert_eq!(response.status(), 500);
    let (bytes, complete) = received(response).await;
    assert_eq!((bytes.as_slice(), complete), (&b"{\"err"[..], false));
}

#[tokio::test]
async fn an_early_end_is_clean_for_http() {
    let server = serve(Hop::new().text("Hello").end_early().text("never")).await;
    let (bytes, complete) = received(ask(&server).await).await;
    assert!(complete);
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains(r#""content":"Hello""#));
    assert!(!text.contains("[DONE]") && !text.contains("\"stop\"") && !text.contains("never"));
    assert_eq!(server.requests()[0].delivery, Delivery::Complete);
}

#[tokio::test]
async fn a_stall_holds_the_connection_until_the_client_leaves() {
    let server = serve(Hop::new().text("Hello").stall()).await;
    let mut response = ask(&server).await;
    let mut text = String::new();
    while !text.contains("Hello") {
        let chunk = response
            .chunk()
            .await
            .unwrap()
            .expect("the stream stays open");
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    assert_eq!(server.requests()[0].delivery, Delivery::Sending);
    drop(response);
    server
        .wait_until(|requests| requests[0].delivery == Delivery::ClientLeft)
        .await;
}

#[tokio::test]
async fn an_ag_ui_stall_begins_with_the_run() {
    let server = serve(Hop::new().stall()).await;
    let mut response = run(&server, &run_input()).await;
    let chunk = response.chunk().await.unwrap().expect("a first event");
    assert!(chunk.starts_with(b"data: {\"type\":\"RUN_STARTED\""));
}

#[tokio::test]
async fn a_silent_hop_takes_the_request_and_says_nothing() {
    let server = serve(Hop::silent()).await;
    let url = format!("{}/chat/completions", server.base_url());
    let pending = tokio::spawn(client().post(url).body(question().to_string()).send());
    server.wait_until(|requests| requests.len() == 1).await;
    assert_eq!(server.requests()[0].delivery, Delivery::Sending);
    pending.abort();
    server
        .wait_until(|requests| requests[0].delivery == Delivery::ClientLeft)
        .await;
}

#[tokio::test]
async fn a_hop_can_hang_up() {
    let server = serve(Hop::hang_up()).await;
    let url = format!("{}/chat/completions", server.base_url());
    let answer = client().post(url).body(question().to_string()).send().await;
    assert!(answer.is_err(), "{answer:?}");
    assert_eq!(server.requests()[0].delivery, Delivery::Cut);
}

#[tokio::test]
async fn a_pause_is_real_time_and_what_came_before_is_out() {
    let pause = Duration::from_millis(20);
    let server = serve(Hop::new().text("a").pause(pause).text("b")).await;
    let began = Instant::now();
    let (bytes, complete) = received(ask(&server).await).await;
    // A lower bound only: it cannot fail on a slow machine.
    assert!(began.elapsed() >= pause && complete);
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains(r#""content":"a""#) && text.contains(r#""content":"b""#));
}

#[tokio::test]
async fn a_delay_lies_between_the_pieces_not_before_or_after() {
    // A delay so long that only a stream without a second piece can end.
    let forever = Duration::from_secs(1 << 30);
    let one = start(
        Script::new()
            .hop(Hop::new().text("one"))
            .piece_delay(forever),
    )
    .await;
    assert!(received(ask(&one).await).await.1);
    let two = Hop::new()
        .text("one two")
        .tool_call_raw("a", "f", "x")
        .piece_delay(Duration::ZERO);
    let own = start(Script::new().hop(two).piece_delay(forever)).await;
    assert!(received(ask(&own).await).await.1, "a hop's own delay wins");
    let server = start(
        Script::new()
            .hop(Hop::new().text("one two"))
            .piece_delay(forever),
    )
    .await;
    let mut response = ask(&server).await;
    let mut text = String::new();
    while !text.contains("one ") {
        text.push_str(std::str::from_utf8(&response.chunk().await.unwrap().unwrap()).unwrap());
    }
    assert!(!text.contains("two"));
}

#[tokio::test]
async fn whole_responses_carry_status_headers_and_body() {
    let script = Script::new()
        .hop(
            Hop::status(429)
                .header("retry-after", "1")
                .body(json!({"wait": true})),
        )
        .hop(Hop::html(502))
        .hop(Hop::status(204))
        .hop(
            Hop::status(200)
                .header("content-type", "text/plain")
                .raw_bytes("not a stream"),
        );
    let server = start(script).await;
    let response = ask(&server).await;
    assert_eq!(
        (
            response.status().as_u16(),
            &response.headers()["retry-after"]
        ),
        (429, &"1".parse().unwrap())
    );
    assert_eq!(response.headers()["content-length"], "13");
    assert_eq!(response.text().await.unwrap(), r#"{"wait":true}"#);
    let response = ask(&server).await;
    assert_eq!(response.status(), 502);
    assert_eq!(response.headers()["content-type"], "text/html");
    assert!(
        response
            .text()
            .await
            .unwrap()
            .contains("<h1>502 Bad Gateway</h1>")
    );
    let response = ask(&server).await;
    assert_eq!(
        (
            response.status().as_u16(),
            response.text().await.unwrap().as_str()
        ),
        (204, "")
    );
    let response = ask(&server).await;
    assert_eq!(response.headers()["content-type"], "text/plain");
    assert!(server.failures().is_empty());
}

#[tokio::test]
async fn shutdown_cuts_what_is_under_way_and_frees_the_port() {
    let server = start(Script::new().hop(Hop::new().text("Hello").stall())).await;
    let (address, base_url) = (server.address(), server.base_url());
    let response = ask(&server).await;
    server.shutdown().await;
    assert!(!received(response).await.1);
    let again = client().get(format!("{base_url}/models")).send().await;
    assert!(again.unwrap_err().is_connect());
    tokio::net::TcpListener::bind(address)
        .await
        .expect("the port is free");
}

#[tokio::test]
async fn a_dropped_server_is_stopped() {
    let server = serve(Hop::new().text("Hello").stall()).await;
    let response = chat(&server, &question()).await;
    drop(server);
    assert!(!received(response).await.1);
}
