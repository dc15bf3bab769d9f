//! The typed face: it has no filter before it, so its methods keep to the rules themselves.

use crate::wire::{Say, a_call, body};
use crate::world::{config, offer};
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::conversation::Conversation;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::{Message, TokenUsage};
use stepwell_core::run::{
    Decision, Durability, Effect, EffectId, Ended, ExecutingTools, Opening, Outcome, Output, Run,
    RunEvent, RunMachine, Settled, Start, Started, Streaming, TimerKey,
};
use stepwell_core::tool::Tool;
use stepwell_core::{CallKey, Timestamp};

const NOW: Timestamp = Timestamp(1_000);

fn opening(durability: Durability) -> Run<Opening> {
    let mut config = config(Dialect::OpenAiChat);
    offer(&mut config, Tool::new("work", "Works."));
    offer(&mut config, Tool::new("ask", "Asks.").requires_approval());
    config.durability = durability;
    let run = Run::new(Arc::new(config), "thread".into(), Conversation::default());
    match run.start(Start::new("run-1", Message::user("user-1", "Hello")), NOW) {
        Started::Opening(run) => run,
        Started::Completed(run) => panic!("{:?}", run.outcome()),
    }
}

fn outputs<S: stepwell_core::run::State>(run: &mut Run<S>) -> Vec<Output> {
    std::iter::from_fn(|| run.poll_output()).collect()
}

fn streaming(durability: Durability) -> Run<Streaming> {
    let mut run = opening(durability);
    outputs(&mut run);
    run.opened(Some("text/event-stream"), NOW)
}

fn executing(tools: &[&str]) -> Run<ExecutingTools> {
    let mut run = streaming(Durability::None);
    let calls = tools
        .iter()
        .enumerate()
        .map(|(index, tool)| a_call(&format!("c{index}"), tool, "{}"));
    let body = body(Dialect::OpenAiChat, 0, &[Say::Calls(calls.collect())]);
    let _ = run.receive(&body, NOW);
    let Ended::ExecutingTools(mut run) = run.end(NOW) else {
        panic!("the model asked for tools")
    };
    outputs(&mut run);
    run
}

fn key(index: u32) -> CallKey {
    CallKey { hop: 0, index }
}

#[test]
fn a_typed_run_shows_its_conversation() {
    let run = executing(&["work", "work"]);
    let asked = run.conversation().tool_calls().map(|call| call.id.as_str());
    assert_eq!(asked.collect::<Vec<_>>(), ["c0", "c1"]);
}

#[test]
fn a_typed_run_shows_the_text_and_the_arguments_of_its_stream() {
    let mut config = config(Dialect::OpenAiChat);
    offer(&mut config, Tool::new("work", "Works."));
    config.partial_arguments = true;
    config.text.break_after_tools = true;
    let run = Run::new(Arc::new(config), "thread".into(), Conversation::default());
    let started = run.start(Start::new("run-1", Message::user("user-1", "Hello")), NOW);
    let Started::Opening(run) = started else {
        panic!("it fits the context")
    };
    let mut run = run.opened(None, NOW);
    let says = [
        Say::Text("Let me see.".into()),
        Say::Call(a_call("c", "work", "{\"a\":1}")),
        Say::Cut,
    ];
    let _ = run.receive(&body(Dialect::OpenAiChat, 0, &says), NOW);
    assert_eq!(run.shown_text(), "Let me see.");
    let arguments = run.partial_arguments("c").expect("it streams");
    assert_eq!(arguments.value(), serde_json::json!({"a": 1}));
    assert_eq!(run.partial_arguments("d"), None);
}

#[test]
fn a_typed_run_tells_whose_it_is_what_it_cost_and_what_it_waits_for() {
    let mut config = config(Dialect::OpenAiChat);
    offer(&mut config, Tool::new("work", "Works."));
    config.timeouts.silence = Some(Duration::from_secs(20));
    let config = Arc::new(config);
    let run = Run::new(
        Arc::clone(&config),
        "thread".into(),
        Conversation::default(),
    );
    let started = run.start(Start::new("run-1", Message::user("user-1", "Hello")), NOW);
    let Started::Opening(mut run) = started else {
        panic!("it fits the context")
    };
    assert_eq!(run.thread_id(), "thread");
    assert_eq!(run.run_id(), "run-1");
    assert_eq!(run.hop(), 0);
    assert_eq!(*run.usage(), TokenUsage::default());
    assert_eq!(run.poll_timeout(), Some(Timestamp(21_000)));
    assert_eq!(run.timeout_reason(), Some(TimerKey::Silence));
    assert_eq!(outputs(&mut run).len(), 2, "it has begun, and asks");
    let snapshot = run.snapshot();
    let restored = RunMachine::restore(&snapshot, config).expect("it was just written");
    assert_eq!(restored.snapshot(), snapshot);

    let mut run = run.opened(None, NOW);
    let says = [
        Say::Call(a_call("c", "work", "{}")),
        Say::Usage {
            input: 7,
            output: 5,
        },
    ];
    let _ = run.receive(&body(Dialect::OpenAiChat, 0, &says), NOW);
    let Ended::ExecutingTools(run) = run.end(NOW) else {
        panic!("the model asked for a tool")
    };
    assert_eq!(run.usage().input_tokens, Some(7));
    assert_eq!(run.usage().output_tokens, Some(5));
    let Settled::Opening(run) = run.tool_finished(key(0), Ok("done".into()), NOW) else {
        panic!("that was the only one")
    };
    assert_eq!(run.hop(), 1);
    assert_eq!(run.run_id(), "run-1.1");
}

#[test]
fn a_typed_run_that_is_over_gives_its_conversation_away() {
    let run = opening(Durability::None).turn_timed_out(NOW);
    let messages = run.conversation().messages().to_vec();
    assert_eq!(messages[0].id(), "user-1");
    assert_eq!(run.into_conversation().messages(), messages);
}

#[test]
fn a_second_result_changes_nothing() {
    let run = executing(&["work", "work"]);
    let Settled::ExecutingTools(run) = run.tool_finished(key(0), Ok("first".into()), NOW) else {
        panic!("one is left")
    };
    let before = run.snapshot();
    let Settled::ExecutingTools(mut run) = run.tool_finished(key(0), Ok("second".into()), NOW)
    else {
        panic!("one is left")
    };
    assert_eq!(
        outputs(&mut run).len(),
        1,
        "only what the first result brought"
    );
    assert!(!run.snapshot().contains("second") && before.contains("first"));
}

#[test]
fn a_call_is_stopped_once_while_the_answer_comes() {
    let mut run = streaming(Durability::None);
    let says = [
        Say::Call(a_call("c0", "work", "{}")),
        Say::Call(a_call("c1", "work", "{}")),
        Say::Cut,
    ];
    let _ = run.receive(&body(Dialect::OpenAiChat, 0, &says), NOW);
    let before = run.snapshot();
    run.cancel_call(key(7), NOW);
    assert_eq!(run.snapshot(), before, "there is no such call");
    run.cancel_call(key(0), NOW);
    let stopped = run.snapshot();
    assert_ne!(stopped, before);
    run.cancel_call(key(0), NOW);
    assert_eq!(run.snapshot(), stopped);
}

#[test]
fn a_result_for_a_call_that_the_user_has_not_allowed_changes_nothing() {
    let run = executing(&["ask"]);
    let before = run.snapshot();
    let Settled::ExecutingTools(run) = run.tool_finished(key(0), Ok("sneaky".into()), NOW) else {
        panic!("it still waits for the user")
    };
    assert_eq!(run.snapshot(), before);
    let Settled::ExecutingTools(run) = run.tool_timed_out(key(0), NOW) else {
        panic!("it does not run")
    };
    assert_eq!(run.snapshot(), before);
}

#[test]
fn a_second_decision_changes_nothing() {
    let run = executing(&["ask"]);
    let Ok(Settled::ExecutingTools(mut run)) = run.decided(key(0), Decision::Granted, NOW) else {
        panic!("it runs")
    };
    let given = outputs(&mut run);
    assert!(
        given
            .iter()
            .any(|output| matches!(output, Output::Effect(_, Effect::RunTool { .. })))
    );
    let before = run.snapshot();
    let Ok(Settled::ExecutingTools(mut run)) = run.decided(key(0), Decision::Granted, NOW) else {
        panic!("it runs")
    };
    assert!(outputs(&mut run).is_empty());
    assert_eq!(run.snapshot(), before);
}

#[test]
fn results_that_go_in_between_messages_do_not_shift_deltas_that_wait() {
    // Nothing is polled between the bytes and the end.
    let mut config = config(Dialect::AgUi);
    offer(&mut config, Tool::new("work", "Works."));
    let run = Run::new(Arc::new(config), "thread".into(), Conversation::default());
    let started = run.start(Start::new("run-1", Message::user("user-1", "Hello")), NOW);
    let Started::Opening(mut run) = started else {
        panic!("it fits the context")
    };
    outputs(&mut run);
    let mut run = run.opened(None, NOW);
    let says = [
        Say::Call(a_call("c", "invented", "{}")),
        Say::Text("after the call".into()),
    ];
    let _ = run.receive(&body(Dialect::AgUi, 0, &says), NOW);
    let Ended::Opening(mut run) = run.end(NOW) else {
        panic!("the call is answered at once")
    };
    let deltas = outputs(&mut run)
        .into_iter()
        .filter_map(|output| match output {
            Output::Event(RunEvent::AgUi(stepwell_core::event::Event::TextMessageContent(
                content,
            ))) => Some(content.delta),
            _ => None,
        });
    assert_eq!(deltas.collect::<String>(), "after the call");
}

#[test]
fn a_write_said_to_be_stored_twice_does_not_store_the_next_one() {
    let mut run = streaming(Durability::Blocks { attempts: 2 });
    let says = [
        Say::Text("One.".into()),
        Say::Call(a_call("c", "work", "{}")),
    ];
    let _ = run.receive(&body(Dialect::OpenAiChat, 0, &says), NOW);
    let Ended::ExecutingTools(mut run) = run.end(NOW) else {
        panic!("the model asked for tools")
    };
    let write = outputs(&mut run)
        .into_iter()
        .find_map(|output| match output {
            Output::Effect(id @ EffectId::Persist { .. }, _) => Some(id),
            _ => None,
        });
    let write = write.expect("text and call are written");
    run.persisted(write, NOW);
    let given = outputs(&mut run);
    assert!(
        given
            .iter()
            .any(|output| matches!(output, Output::Effect(_, Effect::RunTool { .. })))
    );
    let before = run.snapshot();
    run.persisted(write, NOW);
    assert_eq!(run.snapshot(), before);
}

#[test]
fn a_timeout_in_the_typed_face_is_a_call_of_its_own() {
    let run = opening(Durability::None).turn_timed_out(NOW);
    assert!(matches!(run.outcome(), Outcome::Failed { .. }));
}
