//! The provider sends false data.

use crate::wire::{End, answer, peer};
use crate::*;

async fn ask(dialect: Dialect, hop: Hop) -> (MockLlm, Chat, Finished) {
    let server = serve([hop, says("Once more.")]).await;
    let agent = dialect.agent(&server).tool(work(), done).chat();
    let (_, finished) = watch(agent.send("Hello")).await;
    (server, agent, finished)
}

#[tokio::test]
async fn a_wrong_content_type_of_a_readable_stream_is_allowed() {
    for dialect in BOTH {
        for content_type in [
            "text/plain",
            "application/octet-stream",
            "TEXT/EVENT-STREAM",
        ] {
            let hop = says("All is well.").header("content-type", content_type);
            let (_, _, finished) = ask(dialect, hop).await;
            assert_eq!(
                finished.outcome,
                Outcome::Success,
                "{dialect:?}, {content_type}"
            );
            assert_eq!(finished.transcript.text(), "All is well.");
        }
    }
}

#[tokio::test]
async fn a_web_page_is_no_answer_whatever_it_is_called() {
    for dialect in BOTH {
        for content_type in ["text/html", "text/event-stream", "text/plain"] {
            let hop = Hop::html(200).header("content-type", content_type);
            let (server, agent, finished) = ask(dialect, hop).await;
            let Failure::UnexpectedBody { excerpt, .. } = failure(&finished.outcome) else {
                panic!("{dialect:?}, {content_type}: {:?}", finished.outcome)
            };
            assert!(excerpt.contains("200 OK"), "{excerpt}");
            assert_eq!(server.requests().len(), 1);
            assert_goes_on(&agent, &server).await;
        }
    }
}

#[tokio::test]
async fn a_200_with_a_json_error_fails_as_that_error() {
    for dialect in BOTH {
        for content_type in ["application/json", "text/event-stream"] {
            let error =
                json!({"error": {"message": "No such model", "type": "invalid_request_error"}});
            let hop = Hop::status(200)
                .body(error)
                .header("content-type", content_type);
            let (server, agent, finished) = ask(dialect, hop).await;
            let Failure::Api { error } = failure(&finished.outcome) else {
                panic!("{dialect:?}, {content_type}: {:?}", finished.outcome)
            };
            assert_eq!(error.message, "No such model");
            assert_goes_on(&agent, &server).await;
        }
    }
}

#[tokio::test]
async fn a_body_that_ends_without_its_end_is_no_success() {
    for dialect in BOTH {
        let (server, agent, finished) = ask(dialect, says("The answer is").end_early()).await;
        assert_eq!(finished.outcome, Outcome::Truncated, "{dialect:?}");
        assert_eq!(finished.transcript.text(), "The answer is");
        assert_goes_on(&agent, &server).await;
    }
}

#[tokio::test]
async fn an_empty_body_is_asked_for_again() {
    for dialect in BOTH {
        let (server, _, finished) = ask(dialect, Hop::new().bare()).await;
        assert_eq!(finished.outcome, Outcome::Success, "{dialect:?}");
        assert_eq!(finished.text(), "Once more.");
        assert_eq!(server.requests().len(), 2);
    }
}

#[tokio::test]
async fn two_calls_with_one_id_are_two_calls_and_each_is_answered() {
    // Chat distinguishes them by their index; the second gets an id of its own, so that the history can be sent.
    let server = serve([asks(&["a", "a"]), says("Done.")]).await;
    let agent = Dialect::Chat.agent(&server).tool(work(), done).chat();
    let (_, finished) = watch(agent.send("Hello")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    let requests = server.requests();
    let shown = results(&requests[1]);
    assert_eq!((shown.len(), &*shown[0]), (2, "a is done"));
    assert_ne!(shown[0], shown[1]);
    assert_legal(&server);
}

#[tokio::test]
async fn an_id_that_is_begun_twice_is_a_fault_of_the_stream() {
    let (server, agent, finished) = ask(Dialect::AgUi, {
        let start = json!({"type": "TOOL_CALL_START", "toolCallId": "a", "toolCallName": "work"});
        says("So ").raw_frame(&start).raw_frame(&start)
    })
    .await;
    assert!(matches!(failure(&finished.outcome), Failure::Stream { .. }));
    assert_eq!(finished.transcript.text(), "So ");
    assert_goes_on(&agent, &server).await;
}

#[tokio::test]
async fn what_comes_after_the_finish_does_not_undo_it() {
    // A second finish with another reason, and a complete second end.
    let second = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]});
    let hop = says("Done.").stop_reason("stop").raw_frame(second);
    let (server, _, finished) = ask(Dialect::Chat, hop).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(finished.transcript.text(), "Done.");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn two_finishes_of_a_run_do_not_end_it_twice() {
    let ids = |kind: &str| json!({"type": kind, "threadId": "thread-1", "runId": "r"});
    let hop = Hop::new()
        .bare()
        .raw_frame(ids("RUN_STARTED"))
        .raw_frame(ids("RUN_FINISHED"))
        .raw_frame(ids("RUN_FINISHED"));
    let server = serve([hop, says("Once more.")]).await;
    let agent = Dialect::AgUi.agent(&server).chat();
    let (events, _) = watch(agent.send("Hello")).await;
    let ends = events
        .iter()
        .filter(|event| matches!(event, RunEvent::Completed(_)));
    assert_eq!(ends.count(), 1);
    assert_goes_on(&agent, &server).await;
}

#[tokio::test]
async fn a_frame_that_is_not_json_fails_and_keeps_what_came_before() {
    for dialect in BOTH {
        let (server, agent, finished) =
            ask(dialect, says("Well").raw_frame("{\"choices\":[{]}")).await;
        let Failure::Stream { message } = failure(&finished.outcome) else {
            panic!("{:?}", finished.outcome)
        };
        assert!(message.starts_with("frame "), "{message}");
        assert_eq!(finished.transcript.text(), "Well");
        assert_goes_on(&agent, &server).await;
    }
}

#[tokio::test]
async fn a_body_that_only_claims_to_be_compressed_is_read() {
    for dialect in BOTH {
        let hop = says("All is well.").header("content-encoding", "gzip");
        let (_, _, finished) = ask(dialect, hop).await;
        assert_eq!(finished.outcome, Outcome::Success, "{dialect:?}");
        assert_eq!(finished.transcript.text(), "All is well.");
    }
}

#[tokio::test]
async fn an_unrequested_compressed_body_fails() {
    let mut body = answer(
        &[
            "content-type: text/event-stream",
            "content-encoding: gzip",
            "content-length: 12",
        ],
        "",
    );
    body.extend_from_slice(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 2]);
    let url = peer(vec![(body, End::Close)]).await;
    let agent = Dialect::Chat
        .agent_at(&url)
        .configure(|config| config.retry.attempts = 1);
    let agent = agent.chat();
    let (_, finished) = watch(agent.send("Hello")).await;
    let Failure::Connection { message } = failure(&finished.outcome) else {
        panic!("{:?}", finished.outcome)
    };
    assert!(message.contains("gzip"), "{message}");
}
