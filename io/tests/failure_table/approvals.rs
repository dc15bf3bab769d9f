//! The user is asked.

use crate::*;
use futures::FutureExt;
use futures::future::BoxFuture;
use stepwell_io::tool::{Approver, Decision, Rejection, ToolInvocation};

fn asking() -> Tool {
    work()
        .parameters(json!({
            "type": "object",
            "properties": { "id": { "type": "string" } },
            "required": ["id"],
        }))
        .requires_approval()
}

async fn echo(call: ToolContext) -> Result<String, String> {
    Ok(call.arguments.value.to_string())
}

/// Returns the result of a call that the model receives, with this approver.
async fn shown(dialect: Dialect, approver: impl Approver) -> (String, Vec<RunEvent>) {
    let server = serve([asks(&["a"]), says("I see.")]).await;
    let agent = dialect
        .agent(&server)
        .tool(asking(), echo)
        .approver(approver);
    let agent = agent
        .configure(|config| config.timeouts.approval = Some(Duration::from_secs(60)))
        .chat();
    let turn = agent.send("Go on");
    let (events, finished) = watch(turn).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert_legal(&server);
    let requests = server.requests();
    (results(&requests[1])[0].to_owned(), events)
}

fn edited(arguments: &str) -> Decision {
    Decision::Edited {
        arguments: arguments.to_owned(),
    }
}

#[tokio::test]
async fn approval_granted_runs_the_call() {
    for dialect in BOTH {
        let (shown, events) = shown(dialect, |_| async { Decision::Granted }).await;
        assert_eq!(shown, r#"{"id":"a"}"#);
        let asked = |event: &RunEvent| is_call(event, "a", ToolCallStatus::AwaitingApproval);
        assert!(events.iter().any(asked));
    }
}

#[tokio::test]
async fn approval_denied_with_a_reason_tells_the_model() {
    for dialect in BOTH {
        let reason = Some("not today".to_owned());
        let denied = Decision::Denied { reason };
        let (shown, events) = shown(dialect, move |_| std::future::ready(denied.clone())).await;
        let why = "the user did not allow the call: not today";
        assert!(shown.contains(why), "{shown}");
        assert_eq!(failure_kind(&events, "a"), Some(ToolFailureKind::Denied));
    }
}

#[tokio::test]
async fn an_expired_approval_is_reported_to_the_model() {
    for dialect in BOTH {
        let (shown, events) = shown(dialect, |_| async {
            struct Resumed;
            impl Drop for Resumed {
                fn drop(&mut self) {
                    tokio::time::resume();
                }
            }
            tokio::time::pause();
            let _when_dropped = Resumed;
            std::future::pending().await
        })
        .await;
        assert!(shown.contains("did not answer in time"), "{shown}");
        assert_eq!(failure_kind(&events, "a"), Some(ToolFailureKind::TimedOut));
    }
}

#[tokio::test]
async fn approval_with_edited_arguments_runs_the_call_with_those() {
    for dialect in BOTH {
        let (shown, _) = shown(dialect, |_| async { edited(r#"{"id":"mine"}"#) }).await;
        assert!(shown.contains(r#"{"id":"mine"}"#), "{shown}");
    }
}

#[tokio::test]
async fn an_edit_that_does_not_fit_is_denied_with_the_reason() {
    for misfit in ["{}", "not JSON", r#"{"id":3}"#] {
        let (shown, events) = shown(Dialect::Chat, move |_| async move { edited(misfit) }).await;
        assert!(shown.contains("they edited the arguments"), "{shown}");
        assert_eq!(failure_kind(&events, "a"), Some(ToolFailureKind::Denied));
    }
}

/// Asks again, and shows why.
struct Patient;

impl Approver for Patient {
    fn decide(&self, _: ToolInvocation) -> BoxFuture<'static, Decision> {
        async { edited("{}") }.boxed()
    }

    fn decide_again(
        &self,
        call: ToolInvocation,
        misfit: Rejection,
    ) -> BoxFuture<'static, Decision> {
        assert!(misfit.to_string().contains("schema"), "{misfit}");
        assert_eq!(
            call.arguments.value["id"], "a",
            "the model's own are shown again"
        );
        async { edited(r#"{"id":"better"}"#) }.boxed()
    }
}

#[tokio::test]
async fn an_edit_that_does_not_fit_may_be_asked_again() {
    let (shown, _) = shown(Dialect::Chat, Patient).await;
    assert!(shown.contains(r#"{"id":"better"}"#), "{shown}");
}

#[tokio::test]
async fn an_approver_that_panics_allows_nothing() {
    let (shown, events) = shown(Dialect::Chat, |_| async { panic!("a bug") as Decision }).await;
    assert!(shown.contains("could not be asked"), "{shown}");
    assert_eq!(failure_kind(&events, "a"), Some(ToolFailureKind::Denied));
}
