//! A small stream with text and two calls, cut at every byte: in a test run at a share of them.

use crate::*;
use stepwell_core::dialect::HttpRequest;
use stepwell_io::HttpClient;

fn the_stream() -> Hop {
    Hop::new()
        .text("Hé! ")
        .tool_call_with_id("a", "work", json!({"n": 1}))
        .tool_call_with_id("b", "work", json!({}))
}

/// The bytes of the stream, as the agent's own request gets them.
async fn body(dialect: Dialect) -> Vec<u8> {
    let server = serve([Hop::silent()]).await;
    let agent = dialect.agent(&server).tool(work(), done).chat();
    let turn = agent.send("Hello");
    server.wait_until(|requests| requests.len() == 1).await;
    let request = server.requests().remove(0);
    drop(turn);
    let server = serve([the_stream()]).await;
    let client = HttpClient::new().expect("a client");
    let request = HttpRequest {
        method: "POST",
        url: server.root() + &request.path,
        headers: Vec::new(),
        body: request.bytes.to_vec(),
    };
    let (_, body) = client.exchange(request).await.expect("the mock answers");
    body
}

/// The distance in bytes of the places in a test run. `STEPWELL_THOROUGH` takes all.
const SHARE: usize = 4;

/// `broken` breaks the stream off after some of its bytes. `first` is the first place of a test run.
async fn break_off_at_every_byte(dialect: Dialect, broken: fn(Hop) -> Hop, first: usize) {
    let bytes = body(dialect).await;
    let is_thorough = std::env::var_os("STEPWELL_THOROUGH").is_some();
    let places = (0..=bytes.len())
        .filter(|place| is_thorough || place % SHARE == first || *place == bytes.len());
    let places: Vec<_> = places.collect();
    // For each place: the broken stream, and what comes next, whatever that is: the second try, the continuation, or
    // the answer to the next message.
    let hops = places.iter().flat_map(|&place| {
        let some = Hop::new().bare().raw_bytes(bytes[..place].to_vec());
        [broken(some), says("Well.")]
    });
    let server = serve(hops).await;
    let agent = dialect
        .agent(&server)
        .tool(work(), |call: ToolContext| async move {
            assert!(call.arguments.value.is_object());
            done(call).await
        });
    let agent = agent.chat();
    let mut was_whole = false;
    let mut shown_before = 0;
    for &place in &places {
        let what = format!("{dialect:?}, cut after {place} of {} bytes", bytes.len());
        let thread = agent.thread(format!("thread-{place}").as_str());
        let (events, finished) = watch(thread.send("Hello")).await;
        let is_again = events
            .iter()
            .any(|event| matches!(event, RunEvent::Retrying { .. }));
        let ran = events
            .iter()
            .any(|event| is_call(event, "a", ToolCallStatus::Executing));
        match &finished.outcome {
            Outcome::Success if is_again => {
                assert_eq!(finished.transcript.text(), "Well.", "{what}");
                assert!(!ran && shown_before == 0, "{what}: nothing was seen before");
            }
            Outcome::Success => {
                // All that counts was sent: both calls are run, whatever is missing.
                assert_eq!(finished.transcript.text(), "Hé! Well.", "{what}");
                let said = serde_json::to_string(finished.transcript.messages());
                let said = said.expect("messages are JSON");
                assert!(
                    said.contains("a is done") && said.contains("b is done"),
                    "{what}"
                );
                was_whole = true;
            }
            Outcome::Failed { .. } | Outcome::Truncated => {
                let text = finished.transcript.text();
                assert!("Hé! ".starts_with(&text), "{what}: {text:?}");
                assert!(!ran && !was_whole, "{what}: {:?}", finished.outcome);
                assert!(text.len() >= shown_before, "{what}: {text:?}");
                shown_before = text.len();
                let (_, finished) = watch(thread.send("Again")).await;
                assert_eq!(finished.outcome, Outcome::Success, "{what}");
            }
            other => panic!("{what}: {other:?}"),
        }
    }
    assert!(was_whole, "the last cut is behind all that counts");
    assert_eq!(server.requests().len(), 2 * places.len());
    assert_legal(&server);
}

#[tokio::test]
async fn a_chat_stream_whose_connection_is_cut_at_every_byte() {
    break_off_at_every_byte(Dialect::Chat, |bytes| bytes.cut(), 0).await;
}

#[tokio::test]
async fn an_ag_ui_stream_whose_connection_is_cut_at_every_byte() {
    break_off_at_every_byte(Dialect::AgUi, |bytes| bytes.cut(), 1).await;
}

#[tokio::test]
async fn a_chat_stream_whose_body_ends_at_every_byte() {
    break_off_at_every_byte(Dialect::Chat, |bytes| bytes, 2).await;
}

#[tokio::test]
async fn an_ag_ui_stream_whose_body_ends_at_every_byte() {
    break_off_at_every_byte(Dialect::AgUi, |bytes| bytes, 3).await;
}

#[tokio::test]
async fn a_stream_in_pieces_of_any_size_is_the_same_answer() {
    for dialect in BOTH {
        for size in 1..12 {
            let server = serve([the_stream().chunks_of(size), says("Well.")]).await;
            let agent = dialect.agent(&server).tool(work(), done).chat();
            let (_, finished) = watch(agent.send("Hello")).await;
            assert_eq!(finished.outcome, Outcome::Success, "{dialect:?}, {size}");
            assert_eq!(finished.transcript.text(), "Hé! Well.");
            assert_eq!(results(&server.requests()[1]), ["a is done", "b is done"]);
            assert_legal(&server);
        }
    }
}
