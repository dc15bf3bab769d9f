//! The context of a tool's code: the caller, the app's own value, and ways to report, to show and to ask.

use super::{agent, messages, start, watch};
use crate::support::{self, Chat, IntoChat as _};
use serde_json::json;
use std::convert::Infallible;
use std::error::Error;
use std::time::Duration;
use stepwell_io::Agent;
use stepwell_io::tool::{
    Question, QuestionError, Tool, ToolContext, ToolFailureKind, ToolInvocation, UserAnswer,
};
use stepwell_io::turn::{Event, Outcome, RunEvent};
use stepwell_mock_llm::{Hop, Script};

/// The model calls `ship` once and then reports that it is done, twice.
fn script() -> Script {
    let turn = |script: Script| {
        script
            .hop(Hop::new().tool_call("ship", json!({})))
            .hop(Hop::new().text("Done."))
    };
    turn(turn(Script::new()))
}

fn ship() -> Tool {
    Tool::new("ship", "Ships the parcel.")
}

struct Depot {
    city: &'static str,
}

#[tokio::test]
async fn a_tool_knows_its_caller_and_the_apps_value() {
    let server = start(script()).await;
    let endpoint = support::endpoint("openai-compatible", "any", &server.base_url(), None);
    let agent = Agent::builder(endpoint).tool(ship(), |call: ToolContext<Depot>| async move {
        assert_eq!((call.attempt, call.call.hop), (1, 0));
        assert_eq!(call.thread_id, "thread-1");
        assert_eq!(call.turn, call.run_id);
        call.deps().city
    });
    let depot = |city| Depot { city };
    let own = agent.clone().deps(depot("Bergen")).chat();
    watch(own.send("Ship it")).await;
    let agent = agent.build().expect("the agent is set up");
    let other = Chat::from(agent.with_deps(depot("Oslo")));
    watch(other.send("Ship it")).await;
    let results = |request: usize| {
        let requests = server.requests();
        messages(&requests[request], "tool")
            .last()
            .map(|message| message["content"].clone())
    };
    assert_eq!(results(1), Some(json!("Bergen")));
    assert_eq!(results(3), Some(json!("Oslo")));
}

#[tokio::test]
async fn the_texts_of_two_hops_do_not_run_together() {
    let hop = Hop::new().text("Let me see.").tool_call("ship", json!({}));
    let server = start(Script::new().hop(hop).hop(Hop::new().text("Done."))).await;
    let agent = agent(&server).tool(ship(), |_| async { Ok::<_, Infallible>("shipped") });
    let agent = agent.chat();
    let (events, finished) = watch(agent.send("Ship it")).await;
    let shown: String = events
        .iter()
        .filter_map(|event| match event {
            RunEvent::AgUi(Event::TextMessageContent(content)) => Some(content.delta.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(finished.full_text(), "Let me see.\nDone.");
    assert_eq!(finished.full_text(), shown);
    assert_eq!(finished.text(), "Done.");
}

#[tokio::test]
async fn errors_print_nothing_of_the_conversation() {
    let server = start(Script::new().hop(Hop::error(401, "wrong key"))).await;
    let agent = agent(&server).chat();
    let error = agent.run("my secret is 42").await.expect_err("a 401");
    let source = error.source().map(ToString::to_string);
    assert!(source.is_some_and(|source| source.contains("wrong key")));
    let so_far = error.result().expect("the turn has begun");
    for printed in [
        format!("{error:?}"),
        error.to_string(),
        format!("{so_far:?}"),
    ] {
        assert!(!printed.contains("secret"), "{printed}");
        assert!(printed.contains("wrong key"), "{printed}");
    }
}

#[tokio::test]
async fn what_a_tool_reports_comes_before_its_end() {
    let server = start(script()).await;
    let agent = agent(&server)
        .tool(ship(), |call| async move {
            for step in 1..=1000 {
                call.report(f64::from(step) / 1000.0, format!("step {step}"));
            }
            call.partial("packed");
            call.partial("x".repeat(300 << 10));
            Ok::<_, Infallible>("shipped")
        })
        .chat();
    let (events, finished) = watch(agent.send("Ship it")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    let at = |wanted: &dyn Fn(&RunEvent) -> bool| events.iter().position(wanted);
    let progress = at(
        &|event| matches!(event, RunEvent::ToolProgress(progress) if progress.fraction == Some(1.0)),
    );
    let partial = at(
        &|event| matches!(event, RunEvent::ToolPartialResult(partial) if partial.output == "packed".into()),
    );
    let end =
        at(&|event| matches!(event, RunEvent::ToolCallUpdate(update) if update.result.is_some()));
    assert!(
        progress < partial && partial < end && progress.is_some(),
        "{events:?}"
    );
    let reported = events
        .iter()
        .filter(|event| matches!(event, RunEvent::ToolProgress(_)));
    assert!(reported.count() < 1000, "the last counts");
}

#[tokio::test]
async fn a_tool_asks_the_user() {
    let server = start(script()).await;
    let agent = agent(&server)
        .tool(ship(), |call| async move {
            let odd = Question::new("?", json!({ "type": 7 }));
            let refused = call.ask(odd).await;
            assert!(matches!(refused, Err(QuestionError::Schema(_))));
            let speed = call
                .ask(Question::choice("How fast?", ["today", "later"]))
                .await?;
            let sure = call.ask(Question::yes_or_no("Sure?")).await?;
            Ok::<_, Box<dyn Error + Send + Sync>>(format!("{:?} {sure:?}", speed.value()))
        })
        .answerer(|call: ToolInvocation, question: Question| async move {
            assert_eq!(call.name, "ship");
            match question.message.as_str() {
                "How fast?" => UserAnswer::Given {
                    value: json!("today"),
                },
                // An answer that does not fit.
                _ => UserAnswer::Given {
                    value: json!("yes"),
                },
            }
        })
        .chat();
    let (events, _) = watch(agent.send("Ship it")).await;
    let result = messages(&server.requests()[1], "tool")[0]["content"].to_string();
    assert!(result.contains("today"), "{result} {events:?}");
    assert!(result.contains("does not fit the question"), "{result}");
}

#[tokio::test]
async fn a_tool_that_waits_for_the_user_does_not_run_out_of_time() {
    let server = start(script()).await;
    let agent = agent(&server)
        .configure(|config| {
            config.timeouts.tool = Some(Duration::from_secs(20));
            config.timeouts.approval = Some(Duration::from_secs(40));
        })
        .tool(ship(), |call: ToolContext| async move {
            let answer = call.ask("Why?").await?;
            Ok::<_, QuestionError>(format!("{answer:?}"))
        })
        // The clock advances only when no task runs, until the question times out.
        .answerer(|_, _| async {
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
        .chat();
    let (events, finished) = watch(agent.send("Ship it")).await;
    assert_eq!(finished.outcome, Outcome::Success);
    let failed = events.iter().any(|event| {
        matches!(event, RunEvent::ToolCallUpdate(update)
            if matches!(&update.result, Some(Err(failure)) if failure.kind == ToolFailureKind::TimedOut))
    });
    assert!(!failed, "{events:?}");
    let result = messages(&server.requests()[1], "tool")[0]["content"].to_string();
    assert!(result.contains("in time"), "{result}");
}

#[tokio::test]
async fn a_tool_can_be_tried_without_a_turn() {
    let call = ToolContext::from(ToolInvocation::new("ship", json!({ "to": "Oslo" })));
    assert_eq!(call.arguments.value["to"], "Oslo");
    call.report(0.5, "half");
    call.partial("so far");
    assert!(!call.is_cancelled());
    let with_value = ToolContext::for_test(call.invocation().clone(), Depot { city: "Oslo" });
    assert_eq!(with_value.deps().city, "Oslo");
    assert!(matches!(
        call.ask("Why?").await,
        Ok(UserAnswer::Declined { .. })
    ));
}
