use super::{agent, lookup, messages, secret_number, start, watch};
use crate::support::IntoChat as _;
use serde_json::json;
use std::convert::Infallible;
use std::sync::Arc;
use stepwell_io::tool::{Decision, Tool, ToolCallStatus, ToolFailureKind};
use stepwell_io::turn::{Event, Outcome, RunEvent, TurnLimit};
use stepwell_io::{ErrorKind, OnToolError};
use stepwell_mock_llm::{Hop, Script};
use tokio::sync::Barrier;

#[tokio::test]
async fn the_secret_number_turn_runs_both_tools_side_by_side() {
    let server = start(Script::secret_numbers()).await;
    // Neither tool can finish before the other has begun.
    let both = Arc::new(Barrier::new(2));
    let agent = agent(&server)
        .tool(secret_number(), move |call| {
            let both = Arc::clone(&both);
            async move {
                both.wait().await;
                lookup(call).await
            }
        })
        .chat();

    let (events, finished) = watch(agent.send("What are the secret numbers?")).await;

    assert_eq!(finished.outcome, Outcome::Success);
    assert_eq!(finished.hops, 2);
    assert!(
        finished
            .transcript
            .text()
            .ends_with("Alice's number is 42, Bob's is 7")
    );
    assert_eq!(agent.transcript(), finished.transcript);
    assert!(matches!(events.first(), Some(RunEvent::Started { .. })));
    assert_eq!(events.last(), Some(&RunEvent::Completed(Outcome::Success)));
    let streamed: String = events
        .iter()
        .filter_map(|event| match event {
            RunEvent::AgUi(Event::TextMessageContent(content)) => Some(content.delta.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(
        streamed,
        "Let me look those numbers up.\nAlice's number is 42, Bob's is 7"
    );

    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].header("authorization"), Some("Bearer test-key"));
    assert_eq!(
        requests[0].body["tools"][0]["function"]["name"],
        "get_secret_number"
    );
    let results: Vec<_> = messages(&requests[1], "tool")
        .iter()
        .map(|message| message["content"].clone())
        .collect();
    assert_eq!(results, [json!("42"), json!("7")]);
    assert!(server.failures().is_empty(), "{:?}", server.failures());
}

/// A script in which the model asks for one call and then gives in.
fn one_call(name: &str, arguments: &str) -> Script {
    Script::new()
        .hop(Hop::new().tool_call_raw("call_1", name, arguments))
        .hop(Hop::new().text("I see."))
}

async fn result_of(script: Script, tool: Tool, panics: bool) -> (String, Option<ToolFailureKind>) {
    let server = start(script).await;
    let agent = agent(&server)
        .tool(tool, move |call| async move {
            assert!(!panics, "the tool has a bug");
            lookup(call).await
        })
        .chat();
    let (events, finished) = watch(agent.send("Go on")).await;
    assert_eq!(
        finished.outcome,
        Outcome::Success,
        "the model is told, and goes on"
    );
    assert!(server.failures().is_empty(), "{:?}", server.failures());
    let kind = events.iter().find_map(|event| match event {
        RunEvent::ToolCallUpdate(update) => match &update.result {
            Some(Err(failure)) => Some(failure.kind),
            _ => None,
        },
        _ => None,
    });
    let requests = server.requests();
    let shown = messages(&requests[1], "tool")[0]["content"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    (shown, kind)
}

#[tokio::test]
async fn a_tool_that_fails_tells_the_model_why() {
    let script = one_call("get_secret_number", r#"{"name":"carol"}"#);
    let (shown, kind) = result_of(script, secret_number(), false).await;
    assert_eq!(shown, r#"{"error":"nobody is called Some(\"carol\")"}"#);
    assert_eq!(kind, Some(ToolFailureKind::Error));
}

#[tokio::test]
async fn a_tool_that_panics_is_that_tools_error() {
    let script = one_call("get_secret_number", r#"{"name":"bob"}"#);
    let (shown, kind) = result_of(script, secret_number(), true).await;
    assert!(shown.contains("a mistake in its code"), "{shown}");
    assert_eq!(kind, Some(ToolFailureKind::Panicked));
}

#[tokio::test]
async fn the_text_of_a_panic_reaches_the_model_if_the_app_asks_for_it() {
    for (policy, is_shown) in [
        (OnToolError::TellModel, false),
        (OnToolError::ShowModel, true),
    ] {
        let server = start(one_call("get_secret_number", r#"{"name":"bob"}"#)).await;
        let agent = agent(&server)
            .tool(secret_number(), |call| async move {
                assert!(call.name.is_empty(), "postgres://user:pass@db");
                lookup(call).await
            })
            .on_tool_error(policy);
        let chat = agent.chat();
        watch(chat.send("Go on")).await;
        let shown = messages(&server.requests()[1], "tool")[0]["content"].to_string();
        assert!(shown.contains("a mistake in its code"), "{shown}");
        assert_eq!(shown.contains("postgres://"), is_shown, "{shown}");
    }
}

#[tokio::test]
async fn an_unknown_tool_is_answered_without_running_anything() {
    let (shown, kind) = result_of(one_call("get_weather", "{}"), secret_number(), true).await;
    assert!(
        shown.contains("get_weather") && shown.contains("get_secret_number"),
        "{shown}"
    );
    assert_eq!(kind, Some(ToolFailureKind::Rejected));
}

#[tokio::test]
async fn arguments_that_are_not_json_run_no_tool() {
    let script = one_call("get_secret_number", r#"{"name": "bo"#);
    let (shown, kind) = result_of(script, secret_number(), true).await;
    assert!(shown.contains("not valid JSON"), "{shown}");
    assert_eq!(kind, Some(ToolFailureKind::Rejected));
}

#[tokio::test]
async fn arguments_that_break_the_schema_run_no_tool() {
    let script = one_call("get_secret_number", r#"{"name": 3}"#);
    let (shown, kind) = result_of(script, secret_number(), true).await;
    assert!(shown.contains("schema"), "{shown}");
    assert_eq!(kind, Some(ToolFailureKind::Rejected));
}

#[tokio::test]
async fn a_panic_in_one_tool_leaves_its_sibling_alone() {
    let server = start(Script::secret_numbers()).await;
    let agent = agent(&server)
        .tool(secret_number(), |call| async move {
            assert_ne!(
                call.arguments.value["name"], "alice",
                "no numbers of alice today"
            );
            lookup(call).await
        })
        .chat();
    let (_, finished) = watch(agent.send("What are the secret numbers?")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    let requests = server.requests();
    let results = messages(&requests[1], "tool");
    assert!(
        results[0]["content"]
            .as_str()
            .is_some_and(|text| text.contains("a mistake in its code"))
    );
    assert_eq!(results[1]["content"], "7");
}

#[tokio::test]
async fn a_tool_without_arguments_gets_an_empty_object() {
    for raw in ["", "null", "{}", " "] {
        let server = start(one_call("ping", raw)).await;
        let agent = agent(&server)
            .tool(Tool::new("ping", "Answers."), |call| async move {
                Ok::<_, String>(call.arguments.value.to_string())
            })
            .chat();
        let (_, finished) = watch(agent.send("Ping")).await;
        assert_eq!(finished.outcome, Outcome::Success, "{raw:?}");
        assert_eq!(
            messages(&server.requests()[1], "tool")[0]["content"],
            "{}",
            "{raw:?}"
        );
        assert!(server.failures().is_empty(), "{:?}", server.failures());
    }
}

#[tokio::test]
async fn a_tool_that_takes_too_long_is_stopped() {
    let server = start(one_call("wait", "{}")).await;
    let agent = agent(&server)
        .configure(|config| config.timeouts.tool = Some(std::time::Duration::from_millis(1)))
        .tool(Tool::new("wait", "Never comes back."), |_| {
            std::future::pending::<Result<String, String>>()
        })
        .chat();
    let (events, finished) = watch(agent.send("Wait")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    assert!(events.iter().any(|event| matches!(
        event,
        RunEvent::ToolCallUpdate(update)
            if matches!(&update.result, Some(Err(failure)) if failure.kind == ToolFailureKind::TimedOut)
    )));
}

#[tokio::test]
async fn the_user_is_asked_before_a_tool_that_needs_it() {
    for (granted, shown) in [
        (true, "42"),
        (
            false,
            r#"{"error":"the user did not allow the call: not today"}"#,
        ),
    ] {
        let server = start(one_call("get_secret_number", r#"{"name":"alice"}"#)).await;
        let agent = agent(&server)
            .tool(secret_number().requires_approval(), lookup)
            .approver(move |_| async move {
                if granted {
                    Decision::Granted
                } else {
                    Decision::Denied {
                        reason: Some("not today".to_owned()),
                    }
                }
            })
            .chat();
        let (events, finished) = watch(agent.send("Go on")).await;
        assert_eq!(finished.outcome, Outcome::Success);
        assert_eq!(messages(&server.requests()[1], "tool")[0]["content"], shown);
        assert!(events.iter().any(|event| matches!(
            event,
            RunEvent::ToolCallUpdate(update) if update.status == ToolCallStatus::AwaitingApproval
        )));
    }
}

#[tokio::test]
async fn a_turn_stops_at_its_limit_of_tool_rounds() {
    let mut script = Script::new();
    for _ in 0..4 {
        script = script.hop(Hop::new().tool_call("get_secret_number", json!({"name": "alice"})));
    }
    let server = start(script).await;
    let agent = agent(&server)
        .max_tool_rounds(3)
        .tool(secret_number(), lookup)
        .chat();
    let (_, finished) = watch(agent.send("Go on for ever")).await;
    assert_eq!(
        finished.outcome.limit().map(TurnLimit::name),
        Some("max_tool_rounds")
    );
    assert_eq!(server.requests().len(), 4);
    assert!(server.failures().is_empty(), "{:?}", server.failures());
}

#[tokio::test]
async fn a_clone_of_a_builder_may_give_a_tool_other_code() {
    let scripted = || {
        let call = Hop::new().tool_call("get_secret_number", json!({"name": "alice"}));
        Script::new().hop(call).hop(Hop::new().text("I see."))
    };
    let server = start(scripted()).await;
    let base = agent(&server).tool(secret_number(), lookup);
    let own = base
        .clone()
        .handler("get_secret_number", |_| async {
            Ok::<_, Infallible>("1,000")
        })
        .chat();
    watch(own.send("Alice's number?")).await;
    let requests = server.requests();
    assert_eq!(messages(&requests[1], "tool")[0]["content"], "1,000");

    let unknown = base.handler("get_secret", |_| async { Ok::<_, Infallible>("") });
    let error = unknown.build().expect_err("there is no such tool");
    assert!(error.message().contains("get_secret"), "{error}");
    assert_eq!(error.kind(), ErrorKind::Misuse);
}
