//! The model's context window: the warning, the stop before the request, and the host that leaves out a part.

use crate::durability::stored;
use crate::journal::{parsed, written};
use crate::world::{Reply, ToolReply, World, offer};
use serde_json::Value;
use std::sync::Arc;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::run::{
    ContextGuard, ContextPolicy, EffectId, Failure, Input, KilledPolicy, Outcome, RunConfig,
    RunEvent, RunIds, RunMachine, StateKind,
};
use stepwell_core::tool::Tool;
use stepwell_core::transcript::Transcript;
use stepwell_core::{MessageId, Timestamp};
use stepwell_testing::history::check_history;
use stepwell_testing::reply::{Part, call, text};

const LONG: usize = 4_000;

pub fn guarded(window: u64, at_limit: ContextPolicy, change: impl FnOnce(&mut RunConfig)) -> World {
    crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("work", "Works."));
        config.context_guard = ContextGuard {
            window: Some(window),
            at_limit,
            ..ContextGuard::default()
        };
        change(config);
    })
    .tool("work", |_| ToolReply::text(&"x".repeat(LONG)))
}

pub fn with_history(mut world: World, messages: Vec<Message>) -> World {
    let history = Transcript::new(messages);
    world.machine = RunMachine::new(Arc::clone(&world.config), "thread".into(), history);
    world
}

/// Three exchanges of some 500 tokens each.
pub fn long_history() -> Vec<Message> {
    let said = |id: &str, length| {
        Message::Assistant(stepwell_core::event::AssistantMessage {
            id: id.into(),
            content: Some("y".repeat(length)),
            ..Default::default()
        })
    };
    (0..3)
        .flat_map(|at| {
            [
                Message::user(format!("old-{at}"), "x".repeat(1_000)),
                said(&format!("answer-{at}"), 1_000),
            ]
        })
        .collect()
}

fn too_long(world: &World) -> Option<(u64, u64)> {
    match world.outcome() {
        Outcome::Failed {
            failure: Failure::ContextTooLong { tokens, window },
        } => Some((*tokens, *window)),
        _ => None,
    }
}

fn system(request: &Value) -> &str {
    let first = &request["messages"][0];
    match first["role"].as_str() {
        Some("system") => first["content"].as_str().unwrap_or_default(),
        _ => "",
    }
}

fn warned(world: &World) -> usize {
    let is = |event: &&RunEvent| matches!(event, RunEvent::ContextNearlyFull { .. });
    world.seen.events().filter(is).count()
}

#[test]
fn a_first_request_that_does_not_fit_is_not_sent() {
    let world = with_history(guarded(1_000, ContextPolicy::Fail, |_| {}), long_history()).turn();
    let (tokens, window) = too_long(&world).expect("it does not fit");
    assert!((1_500..1_700).contains(&tokens), "{tokens}");
    assert_eq!(window, 1_000);
    assert!(world.seen.requests().is_empty());
    assert_eq!(world.seen.ends(), 1);
    // The question is not lost.
    assert_eq!(world.messages().last().map(Message::role), Some("user"));
}

#[test]
fn a_request_after_tools_that_does_not_fit_is_not_sent() {
    for run_ids in [RunIds::Derived, RunIds::Host] {
        let world = guarded(900, ContextPolicy::Fail, |config| config.run_ids = run_ids)
            .streams([call("c", "work", "{}")])
            .turn();
        assert!(too_long(&world).is_some(), "{:?}", world.outcome());
        assert_eq!(world.seen.requests().len(), 1);
        // The result is in the history, for a new turn.
        check_history(world.messages()).expect("every call is answered");
        assert_eq!(world.results().len(), 1);
    }
}

#[test]
fn what_the_provider_counted_goes_before_an_estimate() {
    let hops = |input| {
        guarded(2_000, ContextPolicy::Fail, |_| {})
            .streams([call("c", "work", "{}"), Part::Usage { input, output: 100 }])
            .streams([text("Done.")])
            .turn()
    };
    // 1,000 tokens of a result come on top.
    assert_eq!(*hops(500).outcome(), Outcome::Success);
    let (tokens, _) = too_long(&hops(1_500)).expect("1,500 and 100 and 1,000 are too many");
    assert!((2_600..2_620).contains(&tokens), "{tokens}");
}

/// What the last turn cost stands in the conversation that it left.
#[test]
fn the_count_of_the_turn_before_is_taken_too() {
    let before = guarded(100_000, ContextPolicy::Fail, |_| {})
        .streams([
            text("Yes."),
            Part::Usage {
                input: 90_000,
                output: 10,
            },
        ])
        .turn();
    let history = before.machine.transcript().clone();
    let mut after = guarded(80_000, ContextPolicy::Fail, |_| {});
    after.machine = RunMachine::new(Arc::clone(&after.config), "thread".into(), history);
    let start = stepwell_core::run::Start::new("run-2", Message::user("user-2", "And?"));
    after
        .input(Input::Start(Box::new(start)))
        .expect("the run is idle");
    let (tokens, _) = too_long(&after).expect("it does not fit");
    assert!((90_010..90_030).contains(&tokens), "{tokens}");
}

#[test]
fn the_answers_share_of_the_window_is_kept_free() {
    let turn = |max| {
        with_history(
            guarded(2_000, ContextPolicy::Fail, |config| {
                config.settings.max_output_tokens = max;
                config.context_guard.warn_at = None;
            }),
            long_history(),
        )
        .streams([text("Yes.")])
        .turn()
    };
    assert_eq!(*turn(None).outcome(), Outcome::Success);
    assert_eq!(
        too_long(&turn(Some(1_000))).map(|(_, window)| window),
        Some(1_000)
    );
    // More than there is: the provider is to say so.
    assert_eq!(*turn(Some(5_000)).outcome(), Outcome::Success);
}

#[test]
fn near_the_limit_the_model_is_warned_in_each_request_and_the_user_once() {
    let world = with_history(
        guarded(2_950, ContextPolicy::Fail, |config| {
            config.instructions = Some("Be kind.".to_owned());
            config.context_guard.warn_at = Some(0.5);
        }),
        long_history(),
    )
    .streams([call("c", "work", "{}")])
    .streams([text("Yes.")])
    .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(warned(&world), 1);
    let requests = world.seen.requests();
    assert_eq!(requests.len(), 2);
    for request in &requests {
        let said = system(request);
        assert!(said.starts_with("Be kind.\n\n"), "{said}");
        assert!(said.contains("nearly filled your context window"), "{said}");
    }
    // It is no part of the history.
    assert!(
        world
            .messages()
            .iter()
            .all(|message| message.role() != "system")
    );
    // Far from it nothing is said.
    let far = guarded(100_000, ContextPolicy::Fail, |_| {})
        .streams([text("Yes.")])
        .turn();
    assert_eq!((warned(&far), system(&far.seen.requests()[0])), (0, ""));
}

#[test]
fn the_provider_may_be_left_to_decide() {
    let world = with_history(guarded(1_000, ContextPolicy::Send, |_| {}), long_history())
        .streams([text("Yes.")])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(warned(&world), 1);
}

fn model(name: &str, length: usize) -> World {
    let world = crate::world::with(Dialect::OpenAiChat, |config| {
        config.endpoint.provider = "openai".to_owned();
        config.endpoint.model = name.to_owned();
    });
    with_history(world, vec![Message::user("old", "x".repeat(length))])
        .streams([text("Yes.")])
        .turn()
}

/// By the table, and with a margin: an estimate of the whole may be wrong by half.
#[test]
fn a_window_from_the_table_guards_too() {
    assert_eq!(*model("gpt-4", 8_192 * 5).outcome(), Outcome::Success);
    assert_eq!(
        too_long(&model("gpt-4", 8_192 * 7)).map(|known| known.1),
        Some(8_192)
    );
    // A model that is not known has no limit.
    assert_eq!(*model("gpt-what", 8_192 * 700).outcome(), Outcome::Success);
}

fn newest(overflow: &stepwell_core::run::ContextOverflow) -> (Vec<MessageId>, Option<String>) {
    (
        overflow.newest(0.5),
        Some("They spoke of x and y.".to_owned()),
    )
}

#[test]
fn the_host_leaves_out_what_does_not_fit_and_the_history_stays_whole() {
    let mut world = with_history(guarded(1_000, ContextPolicy::Trim, |_| {}), long_history())
        .streams([text("Yes.")]);
    world.trims.push_back(newest);
    let world = world.turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.seen.effect_names(), ["trim trim:0", "open open:0:0"]);
    let request = &world.seen.requests()[0];
    assert!(
        request["messages"][0]
            .to_string()
            .contains("They spoke of x and y.")
    );
    let sent = request["messages"].as_array().expect("messages");
    let last = sent.last().map(|message| &message["content"]);
    assert_eq!(last, Some(&Value::from("Go on")));
    assert!(sent.len() < 6, "{sent:#?}");
    let left_out = world.seen.events().find_map(|event| match event {
        RunEvent::ContextTrimmed {
            left_out, tokens, ..
        } => Some((left_out.clone(), *tokens)),
        _ => None,
    });
    let (left_out, tokens) = left_out.expect("the user is told");
    assert!(
        tokens <= 1_000 && left_out.contains(&"old-0".into()),
        "{left_out:?}"
    );
    assert_eq!(world.messages().len(), 8, "nothing is lost");
}

#[test]
fn what_was_left_out_stays_out_for_the_rest_of_the_turn() {
    let mut world = with_history(
        guarded(1_700, ContextPolicy::Trim, |config| {
            config.run_ids = RunIds::Host;
        }),
        long_history(),
    )
    .streams([call("c", "work", "{}")])
    .streams([text("Yes.")]);
    world.runs.push_back("run-2".into());
    world.trims.push_back(newest);
    let world = world.turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    // The run of the hop is created when it is known that there will be one.
    let names = world.seen.effect_names();
    let at = |name: &str| names.iter().position(|other| other == name);
    assert!(
        at("trim trim:1").is_some() && at("trim trim:1") < at("create create_run:1"),
        "{names:?}"
    );
    let requests = world.seen.requests();
    let sent = requests[1]["messages"].as_array().expect("messages");
    let roles: Vec<_> = sent
        .iter()
        .map(|message| message["role"].as_str())
        .collect();
    // The call is there with its result, though they were not all asked for.
    assert_eq!(roles[roles.len() - 2..], [Some("assistant"), Some("tool")]);
}

#[test]
fn a_host_that_keeps_all_or_cannot_ends_the_turn() {
    let turn = |trim: Option<crate::world::Trim>| {
        let mut world = with_history(guarded(1_000, ContextPolicy::Trim, |_| {}), long_history());
        world.trims.extend(trim);
        world.turn()
    };
    let all: crate::world::Trim = |overflow| {
        let ids = overflow.messages.iter().map(|message| message.id.clone());
        (ids.collect(), None)
    };
    let world = turn(Some(all));
    assert!(too_long(&world).is_some(), "{:?}", world.outcome());
    let world = turn(None);
    assert!(too_long(&world).is_some_and(|(tokens, _)| tokens > 1_500));
    assert!(world.seen.warnings()[0].contains("there is nothing to leave out"));
    assert!(world.seen.requests().is_empty());
}

#[test]
fn the_question_can_be_cancelled_restored_and_revived_while_the_host_trims() {
    let asked = || {
        let mut world = with_history(guarded(1_000, ContextPolicy::Trim, |_| {}), long_history())
            .reply(Reply::Silent);
        world.send("Go on");
        // The host's answer is not entered.
        world.scheduled.clear();
        world
    };
    let effect = EffectId::Trim { hop: 0 };
    let answer = || Input::ContextTrimmed {
        effect,
        keep: vec!["answer-2".into()],
        summary: None,
    };
    let mut world = asked();
    assert_eq!(world.machine.state(), StateKind::Opening);
    world.cancel();
    assert_eq!(*world.outcome(), Outcome::Cancelled);
    // I12: the late answer is dropped, and opens nothing.
    world.input(answer()).expect("late answers are no mistake");
    assert_eq!(world.seen.dropped(), [effect]);
    assert!(world.seen.requests().is_empty());

    let mut world = asked();
    let snapshot = world.machine.snapshot();
    let restored = RunMachine::restore(&snapshot, Arc::clone(&world.config)).expect("readable");
    world.put_back(restored);
    assert_eq!(world.machine.snapshot(), snapshot);
    world.input(answer()).expect("it is awaited");
    assert_eq!(world.seen.requests().len(), 1);

    let mut world = asked();
    let revived = RunMachine::revive(&snapshot, Arc::clone(&world.config), Timestamp(world.now));
    world.take_over(revived.expect("readable"));
    let asked_again = world.seen.effect_names();
    assert_eq!(asked_again, ["trim trim:0", "trim trim:0"]);
    world.input(answer()).expect("it is awaited");
    assert_eq!(world.seen.requests().len(), 1);

    let mut config = (*world.config).clone();
    config.device.killed = KilledPolicy::Cancel;
    let now = Timestamp(world.now);
    let killed = RunMachine::revive(&snapshot, Arc::new(config), now).expect("readable");
    assert_eq!(killed.outcome(), Some(&Outcome::Cancelled));
}

#[test]
fn the_host_is_asked_only_when_what_came_before_is_stored() {
    let mut world = stored(Dialect::OpenAiChat, |config| {
        config.context_guard.window = Some(900);
        config.context_guard.at_limit = ContextPolicy::Trim;
    })
    .tool("work", |_| ToolReply::text(&"x".repeat(LONG)))
    .streams([call("c", "work", "{}")])
    .reply(Reply::Silent);
    world.store.takes = 100;
    world.send("Go on");
    world.drive_until(|world| {
        world
            .seen
            .effect_names()
            .contains(&"trim trim:1".to_owned())
    });
    let names = world.seen.effect_names();
    let last_write = names.iter().rposition(|name| name.starts_with("persist"));
    let trim = names.iter().position(|name| name == "trim trim:1");
    assert!(last_write < trim, "{names:?}");
}

#[test]
fn a_trimmed_turn_replays_and_can_be_redacted() {
    let mut world = guarded(1_700, ContextPolicy::Trim, |_| {})
        .journaled()
        .streams([call("a", "work", "{}")])
        .streams([call("b", "work", "{\"n\":1}")])
        .streams([text("Yes.")]);
    let first_out: crate::world::Trim = |overflow| {
        let ids = overflow.messages.iter().skip(3);
        (
            ids.map(|message| message.id.clone()).collect(),
            Some("One was done.".to_owned()),
        )
    };
    world.trims.push_back(first_out);
    let mut world = world.turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let text = written(&mut world);
    let journal = parsed(&text);
    journal.replay().expect("the same run");
    assert!(!journal.redact().contains("One was done."));
}

#[test]
fn a_conversation_that_is_far_from_the_window_leaves_nothing_in_the_snapshot() {
    let snapshot = |window| {
        let mut world = guarded(window, ContextPolicy::Send, |_| {}).reply(Reply::Silent);
        world.send("Go on");
        world.machine.snapshot()
    };
    assert!(!snapshot(1_000_000).contains("\"window\""));
    assert!(snapshot(1).contains("\"window\""), "the model is warned");
}
