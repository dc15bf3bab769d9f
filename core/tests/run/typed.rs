//! The typed face: it has no filter before it, so its methods keep to the rules themselves.

use crate::world::{config, offer};
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::{Message, TokenUsage};
use stepwell_core::run::ticket::{self, Ticket};
use stepwell_core::run::{
    AnyRun, Decision, Durability, Effect, EffectId, Ended, ExecutingTools, NetworkChangePolicy,
    Opened, Opening, Outcome, Output, Run, RunEvent, RunMachine, Settled, Start, Started,
    StateKind, Streaming, TimerKey,
};
use stepwell_core::tool::Tool;
use stepwell_core::transcript::Transcript;
use stepwell_core::{CallKey, Timestamp};
use stepwell_testing::reply::{Call, Part, body};

const NOW: Timestamp = Timestamp(1_000);

fn opening(durability: Durability) -> Run<Opening> {
    let mut config = config(Dialect::OpenAiChat);
    offer(&mut config, Tool::new("work", "Works."));
    offer(&mut config, Tool::new("ask", "Asks.").requires_approval());
    config.durability = durability;
    let run = Run::new(Arc::new(config), "thread".into(), Transcript::default());
    match run.start(Start::new("run-1", Message::user("user-1", "Hello")), NOW) {
        Started::Opening(run) => run,
        Started::Completed(run) => panic!("{:?}", run.outcome()),
    }
}

fn outputs<S: stepwell_core::run::State>(run: &mut Run<S>) -> Vec<Output<Ticket>> {
    std::iter::from_fn(|| run.poll_output()).collect()
}

/// The ticket for the request that the run gives out.
fn sent(run: &mut Run<Opening>) -> ticket::Open {
    let sent = outputs(run).into_iter().find_map(|output| match output {
        Output::Effect(Ticket::Open(ticket), Effect::OpenStream { .. }) => Some(ticket),
        _ => None,
    });
    sent.expect("the request goes out")
}

fn opened(mut run: Run<Opening>, content_type: Option<&str>) -> Run<Streaming> {
    let ticket = sent(&mut run);
    match run.opened(ticket, content_type, NOW) {
        Opened::Streaming(run) => run,
        Opened::Opening(_) | Opened::Summarizing(_) => panic!("the answer was just asked for"),
    }
}

fn streaming(durability: Durability) -> Run<Streaming> {
    opened(opening(durability), Some("text/event-stream"))
}

/// A ticket for the call of this place.
fn tool(run: &Run<ExecutingTools>, index: u32) -> ticket::Tool {
    let of_call = |ticket| match ticket {
        Ticket::Tool(ticket) if ticket.id() == EffectId::Tool(key(index)) => Some(ticket),
        _ => None,
    };
    run.pending_effects()
        .into_iter()
        .find_map(of_call)
        .expect("it runs")
}

/// A ticket for the only question whether a call may run.
fn approval(run: &Run<ExecutingTools>) -> ticket::Approve {
    let asked = |ticket| match ticket {
        Ticket::Approve(ticket) => Some(ticket),
        _ => None,
    };
    run.pending_effects()
        .into_iter()
        .find_map(asked)
        .expect("it asks")
}

fn is_dropped(output: &Output<Ticket>) -> bool {
    matches!(output, Output::Event(RunEvent::AnswerDropped { .. }))
}

fn executing(tools: &[&str]) -> Run<ExecutingTools> {
    let mut run = streaming(Durability::None);
    let calls = tools
        .iter()
        .enumerate()
        .map(|(index, tool)| Call::new(&format!("c{index}"), tool, "{}"));
    let body = body(Dialect::OpenAiChat, 0, &[Part::Calls(calls.collect())]);
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
    let asked = run.transcript().tool_calls().map(|call| call.id.as_str());
    assert_eq!(asked.collect::<Vec<_>>(), ["c0", "c1"]);
}

#[test]
fn a_typed_run_shows_the_text_and_the_arguments_of_its_stream() {
    let mut config = config(Dialect::OpenAiChat);
    offer(&mut config, Tool::new("work", "Works."));
    config.partial_arguments = true;
    config.text.break_after_tools = true;
    let run = Run::new(Arc::new(config), "thread".into(), Transcript::default());
    let started = run.start(Start::new("run-1", Message::user("user-1", "Hello")), NOW);
    let Started::Opening(run) = started else {
        panic!("it fits the context")
    };
    let mut run = opened(run, None);
    let says = [
        Part::Text("Let me see.".into()),
        Part::Call(Call::new("c", "work", "{\"a\":1}")),
        Part::Cut,
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
    let run = Run::new(Arc::clone(&config), "thread".into(), Transcript::default());
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
    let ticket = sent(&mut run);
    let snapshot = run.snapshot();
    let restored = RunMachine::restore(&snapshot, config).expect("it was just written");
    assert_eq!(restored.snapshot(), snapshot);

    let Opened::Streaming(mut run) = run.opened(ticket, None, NOW) else {
        panic!("the request is out")
    };
    let says = [
        Part::Call(Call::new("c", "work", "{}")),
        Part::Usage {
            input: 7,
            output: 5,
        },
    ];
    let _ = run.receive(&body(Dialect::OpenAiChat, 0, &says), NOW);
    let Ended::ExecutingTools(mut run) = run.end(NOW) else {
        panic!("the model asked for a tool")
    };
    outputs(&mut run);
    assert_eq!(run.usage().input_tokens, Some(7));
    assert_eq!(run.usage().output_tokens, Some(5));
    let ticket = tool(&run, 0);
    let Settled::Opening(run) = run.tool_finished(ticket, Ok("done".into()), NOW) else {
        panic!("that was the only one")
    };
    assert_eq!(run.hop(), 1);
    assert_eq!(run.run_id(), "run-1.1");
}

/// A run that has taken too long, as its own clock says.
fn timed_out() -> Run<stepwell_core::run::Completed> {
    let run = opening(Durability::None);
    let mut run = AnyRun::from(run);
    for _ in 0..100 {
        run = match run {
            AnyRun::Completed(run) => return run,
            AnyRun::Opening(run) => {
                let at = run.poll_timeout().expect("something is awaited");
                run.wake(at)
            }
            AnyRun::Waiting(run) => {
                let at = run.poll_timeout().expect("it is tried again");
                run.wake(at)
            }
            other => panic!("a run that nobody answers is {}", other.kind()),
        };
    }
    panic!("it tries for ever")
}

#[test]
fn a_typed_run_that_is_over_gives_its_conversation_away() {
    let run = timed_out();
    let messages = run.transcript().messages().to_vec();
    assert_eq!(messages[0].id(), "user-1");
    assert_eq!(run.into_transcript().messages(), messages);
}

#[test]
fn an_answer_to_a_request_that_was_taken_back_changes_nothing() {
    let mut config = config(Dialect::OpenAiChat);
    config.device.network_change = NetworkChangePolicy::Reopen;
    let run = Run::new(Arc::new(config), "thread".into(), Transcript::default());
    let started = run.start(Start::new("run-1", Message::user("user-1", "Hello")), NOW);
    let Started::Opening(mut run) = started else {
        panic!("it fits the context")
    };
    let first = sent(&mut run);
    // Another network: the request goes out anew.
    run.network_available(NOW);
    let second = sent(&mut run);
    assert_ne!(first.id(), second.id());
    let before = run.snapshot();
    let Opened::Opening(mut run) = run.opened(first, None, NOW) else {
        panic!("that request is gone")
    };
    assert!(outputs(&mut run).iter().all(is_dropped));
    assert_eq!(run.snapshot(), before);
    let opened = run.opened(second, None, NOW);
    assert_eq!(opened.kind(), StateKind::Streaming);
}

#[test]
fn a_second_result_changes_nothing() {
    let run = executing(&["work", "work"]);
    let (first, second) = (tool(&run, 0), tool(&run, 0));
    let Settled::ExecutingTools(mut run) = run.tool_finished(first, Ok("first".into()), NOW) else {
        panic!("one is left")
    };
    outputs(&mut run);
    let before = run.snapshot();
    let Settled::ExecutingTools(mut run) = run.tool_finished(second, Ok("second".into()), NOW)
    else {
        panic!("one is left")
    };
    let said = outputs(&mut run);
    assert!(said.len() == 1 && is_dropped(&said[0]), "{said:?}");
    assert_eq!(run.snapshot(), before);
}

#[test]
fn a_call_is_stopped_once_while_the_answer_comes() {
    let mut run = streaming(Durability::None);
    let says = [
        Part::Call(Call::new("c0", "work", "{}")),
        Part::Call(Call::new("c1", "work", "{}")),
        Part::Cut,
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
fn a_call_that_the_user_has_not_allowed_has_no_ticket() {
    let run = executing(&["ask"]);
    let pending = run.pending_effects();
    assert!(matches!(pending[..], [Ticket::Approve(_)]), "{pending:?}");
}

#[test]
fn a_second_decision_changes_nothing() {
    let run = executing(&["ask"]);
    let (first, second) = (approval(&run), approval(&run));
    let Ok(Settled::ExecutingTools(mut run)) = run.decided(first, Decision::Granted, NOW) else {
        panic!("it runs")
    };
    let given = outputs(&mut run);
    assert!(
        given
            .iter()
            .any(|output| matches!(output, Output::Effect(_, Effect::RunTool { .. })))
    );
    let before = run.snapshot();
    let Ok(Settled::ExecutingTools(mut run)) = run.decided(second, Decision::Granted, NOW) else {
        panic!("it runs")
    };
    assert!(outputs(&mut run).iter().all(is_dropped));
    assert_eq!(run.snapshot(), before);
}

#[test]
fn results_that_go_in_between_messages_do_not_shift_deltas_that_wait() {
    // Nothing is polled between the bytes and the end.
    let mut config = config(Dialect::AgUi);
    offer(&mut config, Tool::new("work", "Works."));
    let run = Run::new(Arc::new(config), "thread".into(), Transcript::default());
    let started = run.start(Start::new("run-1", Message::user("user-1", "Hello")), NOW);
    let Started::Opening(run) = started else {
        panic!("it fits the context")
    };
    let mut run = opened(run, None);
    let says = [
        Part::Call(Call::new("c", "invented", "{}")),
        Part::Text("after the call".into()),
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
        Part::Text("One.".into()),
        Part::Call(Call::new("c", "work", "{}")),
    ];
    let _ = run.receive(&body(Dialect::OpenAiChat, 0, &says), NOW);
    let Ended::ExecutingTools(mut run) = run.end(NOW) else {
        panic!("the model asked for tools")
    };
    outputs(&mut run);
    let write = |run: &Run<ExecutingTools>| {
        let of_write = |ticket| match ticket {
            Ticket::Persist(ticket) => Some(ticket),
            _ => None,
        };
        run.pending_effects().into_iter().find_map(of_write)
    };
    let first = write(&run).expect("text and call are written");
    let second = write(&run).expect("as before");
    run.persisted(first, NOW);
    let given = outputs(&mut run);
    assert!(
        given
            .iter()
            .any(|output| matches!(output, Output::Effect(_, Effect::RunTool { .. })))
    );
    let before = run.snapshot();
    run.persisted(second, NOW);
    assert!(outputs(&mut run).iter().all(is_dropped));
    assert_eq!(run.snapshot(), before);
}

#[test]
fn a_run_that_nobody_answers_fails_by_its_own_clock() {
    assert!(matches!(timed_out().outcome(), Outcome::Failed { .. }));
}

#[test]
fn a_typed_run_comes_back_as_one_and_a_machine_gives_it_back() {
    let run = executing(&["work"]);
    let (snapshot, config) = (run.snapshot(), Arc::clone(run.config()));
    let restored = AnyRun::restore(&snapshot, Arc::clone(&config)).expect("it was just written");
    let machine = RunMachine::from(restored);
    assert_eq!(machine.snapshot(), snapshot);
    let Ok(AnyRun::ExecutingTools(run)) = machine.into_run() else {
        panic!("its tool runs")
    };
    let ticket = tool(&run, 0);
    let settled = run.tool_finished(ticket, Ok("done".into()), NOW);
    assert_eq!(settled.kind(), StateKind::Opening);

    // On another host, a tool that may not run twice is not run again.
    let revived = AnyRun::revive(&snapshot, config, NOW).expect("it was just written");
    assert_eq!(revived.kind(), StateKind::Opening);
}

#[test]
fn moves_are_told_where_they_are_asked_for() {
    let mut config = config(Dialect::OpenAiChat);
    config.tells_moves = true;
    let run = Run::new(Arc::new(config), "thread".into(), Transcript::default());
    let started = run.start(Start::new("run-1", Message::user("user-1", "Hello")), NOW);
    let Started::Opening(run) = started else {
        panic!("it fits the context")
    };
    let mut run = opened(run, None);
    let _ = run.receive(
        &body(Dialect::OpenAiChat, 0, &[Part::Text("Hi.".into())]),
        NOW,
    );
    let mut ended = run.end(NOW);
    let moves = std::iter::from_fn(|| ended.poll_output()).filter_map(|output| match output {
        Output::Moved(edge) => Some((edge.from, edge.on, edge.to)),
        _ => None,
    });
    let expected = [
        (StateKind::Opening, "Opened", StateKind::Streaming),
        (StateKind::Streaming, "Finish", StateKind::Completed),
    ];
    assert_eq!(moves.collect::<Vec<_>>(), expected);
}
