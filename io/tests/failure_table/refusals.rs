//! The provider refuses, or is not there.

use crate::wire::{End, answer, chunk, peer};
use crate::*;
use std::time::SystemTime;

/// The pauses of a turn, in milliseconds.
fn pauses(events: &[RunEvent]) -> Vec<u64> {
    let pause = |event: &RunEvent| match event {
        RunEvent::Retrying { delay_ms, .. } => Some(*delay_ms),
        _ => None,
    };
    events.iter().filter_map(pause).collect()
}

#[tokio::test]
async fn rate_limit_5xx_or_timeout_of_the_server_is_tried_again() {
    for dialect in BOTH {
        for status in [408, 409, 429, 500, 502, 503, 504, 529] {
            let hops = [
                Hop::error(status, "Not now"),
                Hop::html(status),
                says("Here I am."),
            ];
            let server = serve(hops).await;
            let agent = dialect.agent(&server).chat();
            let (events, finished) = watch(agent.send("Hello")).await;
            assert_eq!(finished.outcome, Outcome::Success, "{dialect:?}, {status}");
            assert_eq!(finished.transcript.text(), "Here I am.");
            assert_eq!(pauses(&events).len(), 2, "{dialect:?}, {status}");
            let requests = server.requests();
            assert_eq!(requests[0].body, requests[2].body, "it is the same request");
        }
    }
}

#[tokio::test]
async fn what_no_second_try_can_help_fails_at_once() {
    for dialect in BOTH {
        for status in [400, 401, 403, 404, 413, 422] {
            let server = serve([Hop::error(status, "No")]).await;
            let agent = dialect.agent(&server).chat();
            let (events, finished) = watch(agent.send("Hello")).await;
            let Failure::Api { error } = failure(&finished.outcome) else {
                panic!("{:?}", finished.outcome)
            };
            assert_eq!(error.status, status);
            assert!(pauses(&events).is_empty(), "{dialect:?}, {status}");
        }
    }
}

/// The pause that a turn takes after a refusal with this header; it is cancelled then.
async fn pause_after(dialect: Dialect, status: u16, header: &str, value: &str) -> Option<u64> {
    let server = serve([Hop::error(status, "Slow down").header(header, value)]).await;
    let agent = dialect.agent(&server).chat();
    let mut turn = agent.send("Hello");
    let seen = until(&mut turn, |event| {
        matches!(event, RunEvent::Retrying { .. } | RunEvent::Completed(_))
    })
    .await;
    turn.cancel();
    turn.finish().await;
    pauses(&[seen]).first().copied()
}

#[tokio::test]
async fn retry_after_works_in_seconds_and_as_a_date() {
    let at = |seconds| httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(seconds));
    for dialect in BOTH {
        for status in [429, 503] {
            assert_eq!(
                pause_after(dialect, status, "retry-after", "60").await,
                Some(60_000)
            );
            assert_eq!(
                pause_after(dialect, status, "retry-after-ms", "1500").await,
                Some(1_500)
            );
            // A date has whole seconds, and some time has passed since it was written.
            let pause = pause_after(dialect, status, "retry-after", &at(90)).await;
            assert!(
                pause.is_some_and(|pause| (1_000..=90_000).contains(&pause)),
                "{pause:?}"
            );
            let past = "Thu, 01 Jan 1970 00:00:09 GMT";
            let pause = pause_after(dialect, status, "retry-after", past).await;
            assert!(pause.is_some_and(|pause| pause < 10), "{pause:?}");
            // Longer than anyone waits: the turn fails instead.
            for longer in ["86400", &at(86_400)] {
                assert_eq!(
                    pause_after(dialect, status, "retry-after", longer).await,
                    None
                );
            }
            // An unreadable value is no reason to give up.
            let pause = pause_after(dialect, status, "retry-after", "soon").await;
            assert!(pause.is_some_and(|pause| pause < 10), "{pause:?}");
        }
    }
}

#[tokio::test]
async fn attempts_are_bounded() {
    for dialect in BOTH {
        let hops = std::iter::repeat_with(|| Hop::error(503, "Overloaded")).take(10);
        let server = serve(hops).await;
        let agent = dialect.agent(&server).chat();
        let (events, finished) = watch(agent.send("Hello")).await;
        assert!(matches!(failure(&finished.outcome), Failure::Api { .. }));
        assert_eq!((server.requests().len(), pauses(&events).len()), (4, 3));
    }
}

#[tokio::test]
async fn a_connection_lost_before_the_first_event_is_tried_again() {
    for dialect in BOTH {
        for lost in [
            Hop::hang_up(),
            says("never seen").cut_at(0),
            Hop::new().bare().raw_bytes(": a heartbeat\n\n").cut(),
        ] {
            let server = serve([lost.clone(), lost, says("Back.")]).await;
            let agent = dialect.agent(&server).chat();
            let (events, finished) = watch(agent.send("Hello")).await;
            assert_eq!(finished.outcome, Outcome::Success, "{dialect:?}");
            assert_eq!(finished.transcript.text(), "Back.");
            assert_eq!(pauses(&events).len(), 2);
        }
    }
}

#[tokio::test]
async fn a_connection_lost_after_events_fails_and_keeps_them() {
    for dialect in BOTH {
        let server = serve([says("The answer is").cut(), says("Well.")]).await;
        let agent = dialect.agent(&server).chat();
        let (events, finished) = watch(agent.send("Hello")).await;
        assert!(matches!(
            failure(&finished.outcome),
            Failure::Connection { .. }
        ));
        assert_eq!(finished.transcript.text(), "The answer is");
        assert!(pauses(&events).is_empty());
        assert_eq!(server.requests().len(), 1);
        assert_goes_on(&agent, &server).await;
    }
}

const SAYS_HI: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n";
const STOPS: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
const CHUNKED: [&str; 2] = [
    "content-type: text/event-stream",
    "transfer-encoding: chunked",
];

fn whole() -> Vec<u8> {
    let body = format!("{}{}0\r\n\r\n", chunk(SAYS_HI), chunk(STOPS));
    answer(&[CHUNKED[0], CHUNKED[1], "connection: close"], &body)
}

async fn ask_peer(answers: Vec<(Vec<u8>, End)>) -> (Vec<RunEvent>, Finished) {
    let url = peer(answers).await;
    let agent = Dialect::Chat.agent_at(&url).chat();
    watch(agent.send("Hello")).await
}

#[tokio::test]
async fn a_connection_that_is_reset_is_a_lost_one() {
    let (events, finished) = ask_peer(vec![
        (Vec::new(), End::Reset),
        (b"HTTP/1.1 200".to_vec(), End::Reset),
        (answer(&CHUNKED, ""), End::Reset),
        (whole(), End::Close),
    ])
    .await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(finished.transcript.text(), "Hi");
    assert_eq!(pauses(&events).len(), 3);
}

#[tokio::test]
async fn what_is_no_http_is_no_answer_and_tried_again() {
    for garbage in [
        "SSH-2.0-OpenSSH_9.6\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon here\r\n\r\n",
    ] {
        let (_, finished) = ask_peer(vec![
            (garbage.as_bytes().to_vec(), End::Close),
            (whole(), End::Close),
        ])
        .await;
        assert_eq!(finished.outcome, Outcome::Success, "{garbage}");
    }
}

#[tokio::test]
async fn chunked_garbage_keeps_the_text_before_it() {
    let nothing = answer(&CHUNKED, "ZZZ\r\nwhat is this\r\n");
    let (events, finished) = ask_peer(vec![(nothing, End::Close), (whole(), End::Close)]).await;
    assert_eq!(
        finished.outcome,
        Outcome::Success,
        "nothing was seen: it is tried again"
    );
    assert_eq!(pauses(&events).len(), 1);

    let something = answer(
        &CHUNKED,
        &format!("{}ZZZ\r\nwhat is this\r\n", chunk(SAYS_HI)),
    );
    let (_, finished) = ask_peer(vec![(something, End::Close)]).await;
    assert!(matches!(
        failure(&finished.outcome),
        Failure::Connection { .. }
    ));
    assert_eq!(finished.transcript.text(), "Hi");
}

#[tokio::test]
async fn a_body_shorter_than_its_length_is_a_lost_connection() {
    let headers = ["content-type: text/event-stream", "content-length: 5000"];
    let (_, finished) = ask_peer(vec![(answer(&headers, SAYS_HI), End::Close)]).await;
    assert!(matches!(
        failure(&finished.outcome),
        Failure::Connection { .. }
    ));
    assert_eq!(finished.transcript.text(), "Hi");
}
