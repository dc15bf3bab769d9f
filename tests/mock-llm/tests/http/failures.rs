//! Expectations.

use stepwell_mock_llm::{Hop, Script};

use crate::client::{ask, json_of, start};

#[tokio::test]
async fn an_expectation_that_holds_changes_nothing() {
    let hop = Hop::new()
        .text("Hi")
        .expect(|request| match request.body["model"].as_str() {
            Some("test-model") => Ok(()),
            other => Err(format!("model {other:?}")),
        });
    let server = start(Script::new().hop(hop)).await;
    assert_eq!(ask(&server).await.status(), 200);
    assert!(server.failures().is_empty());
}

#[tokio::test]
async fn the_first_that_does_not_hold_is_the_answer() {
    let hop = Hop::new()
        .text("Hi")
        .expect(|_| Ok(()))
        .expect(|request| Err(format!("no tools in {}", request.path)))
        .expect(|_| Err("not reached".to_owned()));
    let server = start(Script::new().hop(hop).hop(Hop::new().text("Hi"))).await;
    let response = ask(&server).await;
    assert_eq!(response.status(), 500);
    let error = json_of(response).await["error"].clone();
    assert_eq!(error["code"], "expectation_failed");
    assert_eq!(
        error["message"],
        "The expectation of hop 0 does not hold: no tools in /v1/chat/completions"
    );
    assert_eq!(
        server.failures(),
        [
            "request 0: POST /v1/chat/completions: The expectation of hop 0 does not hold: no tools in \
          /v1/chat/completions"
        ]
    );
    assert_eq!(ask(&server).await.status(), 200, "the script goes on");
}

#[tokio::test]
async fn a_panic_is_a_failure_too() {
    let hop = Hop::new().text("Hi").expect(|request| {
        assert_eq!(request.body["model"], "other", "the model");
        Ok(())
    });
    let server = start(Script::new().hop(hop)).await;
    assert_eq!(ask(&server).await.status(), 500);
    assert!(
        server.failures()[0].contains("the model"),
        "{:?}",
        server.failures()
    );
}
