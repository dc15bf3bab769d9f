//! Models that cannot be used.

use std::error::Error as _;
use stepwell_io::config::ModelError;
use stepwell_io::{Agent, ErrorKind};

#[tokio::test]
async fn an_unknown_provider_fails_each_run() {
    let agent = Agent::new("nobody:m");
    let conversation = agent.conversation("alice");
    for run in [
        agent.run("Hello"),
        agent.run("Hello"),
        conversation.send("Hello"),
    ] {
        let error = run.await.expect_err("nobody has no model");
        assert_eq!(error.kind(), ErrorKind::Misuse);
        assert!(error.message().contains("nobody"), "{error}");
        assert!(error.result().is_none(), "no turn began");
    }
    assert!(conversation.transcript().messages().is_empty());
    let mut turn = agent.stream("Hello");
    let error = turn.next().await.expect("an error is an item");
    assert_eq!(
        error.expect_err("nobody has no model").kind(),
        ErrorKind::Misuse
    );
    assert!(turn.next().await.is_none(), "the error comes once");
}

#[test]
fn an_unknown_provider_fails_the_build() {
    let error = Agent::<()>::builder("nobody:m").build();
    let error = error.expect_err("nobody has no model");
    assert_eq!(error.kind(), ErrorKind::Misuse);
    let source = error.source().and_then(|source| source.downcast_ref());
    assert!(
        matches!(source, Some(ModelError::Provider(_))),
        "{source:?}"
    );
}
