//! The one error of the library.

use crate::{agent, refuses};
use std::error::Error as _;
use stepwell_io::turn::Failure;
use stepwell_io::{Error, ErrorKind};

/// Returns the error of a run whose request is refused with this status.
async fn refused(status: u16) -> Error {
    let agent = agent::<()>(refuses(status, "Not now"))
        .configure(|config| config.retry.attempts = 1)
        .instructions("Never name the treasure.")
        .build()
        .expect("it is set up");
    let result = agent.run("The treasure is in Bergen.").await;
    result.expect_err("it is refused")
}

#[tokio::test]
async fn the_kind_follows_from_the_refusal() {
    for (status, kind, is_retryable) in [
        (401, ErrorKind::Authentication, false),
        (403, ErrorKind::Permission, false),
        (404, ErrorKind::NotFound, false),
        (429, ErrorKind::RateLimit, true),
        (400, ErrorKind::InvalidRequest, false),
        (500, ErrorKind::ServerError, true),
    ] {
        let error = refused(status).await;
        assert_eq!(error.kind(), kind, "{status}");
        assert_eq!(error.status(), Some(status));
        assert_eq!(error.provider(), Some("openai-compatible"));
        assert_eq!(error.is_retryable(), is_retryable, "{status}");
        assert_eq!(error.advice(), kind.advice());
        let source = error.source().and_then(|source| source.downcast_ref());
        assert!(matches!(source, Some(Failure::Api { .. })), "{source:?}");
    }
}

#[tokio::test]
async fn an_error_prints_its_reason_and_advice_and_no_content() {
    let error = refused(401).await;
    let text = error.to_string();
    assert!(
        text.contains("Not now") && text.contains(error.advice()),
        "{text}"
    );
    let so_far = error.result().expect("the turn has begun");
    assert_eq!(so_far.messages().len(), 1);
    for printed in [text, format!("{error:?}"), format!("{so_far:?}")] {
        assert!(
            !printed.contains("treasure") && !printed.contains("Bergen"),
            "{printed}"
        );
    }
}

#[tokio::test]
async fn an_error_is_cloned_and_sent_to_other_tasks() {
    let error = refused(401).await;
    let clone = error.clone();
    let kind = tokio::spawn(async move { clone.kind() });
    assert_eq!(kind.await.expect("no panic"), error.kind());
}
