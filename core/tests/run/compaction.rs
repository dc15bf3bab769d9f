//! Compaction: what requests leave out of a long conversation, and the summary that a model writes of it.

use crate::context::{guarded, long_history, with_history};
use crate::durability::stored;
use crate::journal::{parsed, written};
use crate::world::{Reply, ToolReply, World, config};
use serde_json::Value;
use std::sync::Arc;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::provider::ModelPrice;
use stepwell_core::run::{
    Block, BlockContent, CompactionPolicy, CompactionWay, ContextPolicy, Credentials, EffectId,
    Failure, HookMoment, HookSpec, Input, NetworkChangePolicy, Outcome, Refusal, RunConfig,
    RunEvent, RunIds, RunMachine, Start, StateKind, SummaryPolicy, TurnOptions,
};
use stepwell_core::transcript::{Compaction, SUMMARY, Transcript};
use stepwell_core::{Timestamp, Usd};
use stepwell_testing::reply::{Part, call, text};

/// A nano-dollar for each token.
const PRICE: u64 = 1_000_000;

/// The policy of a cheap model of another provider that writes summaries.
pub(crate) fn summary_policy() -> CompactionPolicy {
    let mut endpoint = config(Dialect::Anthropic).endpoint;
    endpoint.model = "cheap".to_owned();
    let price = Usd::from_nanos(PRICE);
    endpoint.quirks.price = Some(ModelPrice::new(price, price));
    CompactionPolicy::with(CompactionWay::Summary(SummaryPolicy {
        model: Some(Box::new(endpoint.into())),
        ..SummaryPolicy::default()
    }))
}

pub(crate) fn summarizing(change: impl FnOnce(&mut RunConfig)) -> World {
    let world = guarded(1_500, ContextPolicy::Fail, |config| {
        config.retry.attempts = 2;
        config.compaction = summary_policy();
        change(config);
    });
    with_history(world, long_history())
}

fn summary() -> Vec<Part> {
    vec![
        text("They spoke of x and y."),
        Part::Usage {
            input: 500,
            output: 10,
        },
    ]
}

pub(crate) fn compactions(world: &World) -> Vec<Compaction> {
    let events = world.seen.events();
    events
        .filter_map(|event| match event {
            RunEvent::ContextTrimmed { compaction, .. } => Some(compaction.clone()),
            _ => None,
        })
        .collect()
}

/// The texts of a request of OpenAI's form.
fn contents(request: &Value) -> Vec<&str> {
    let messages = request["messages"].as_array().expect("messages");
    let contents = messages.iter().map(|message| &message["content"]);
    contents
        .map(|text| text.as_str().unwrap_or_default())
        .collect()
}

fn opens(world: &World) -> Vec<String> {
    let mut names = world.seen.effect_names();
    names.retain(|name| name.starts_with("open"));
    names
}

pub(crate) fn next_turn(world: &World, id: &str, options: TurnOptions) -> World {
    let mut next = World::new((*world.config).clone());
    let history = world.machine.transcript().clone();
    next.machine = RunMachine::new(Arc::clone(&next.config), "thread".into(), history);
    next = next.streams([text("Yes.")]).streams([text("Yes.")]);
    let mut start = Start::new(id, Message::user(format!("user-{id}"), "More"));
    start.options = options;
    next.input(Input::Start(Box::new(start)))
        .expect("it is idle");
    next.drive();
    next
}

#[test]
fn a_model_writes_a_summary_before_the_request() {
    let world = summarizing(|_| {})
        .streams(summary())
        .streams([text("Yes.")])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(opens(&world), ["open open:0:0", "open open:0:1"]);
    let requests = world.seen.requests();
    assert_eq!(requests[0]["model"], "cheap");
    let asked = requests[0].to_string();
    assert!(
        asked.contains("User: xxx") && asked.contains("Assistant: yyy"),
        "{asked}"
    );
    assert!(requests[0].get("tools").is_none());
    let sent = contents(&requests[1]);
    assert!(sent[0].ends_with("They spoke of x and y."), "{sent:?}");
    assert_eq!(sent.last(), Some(&"Go on"));
    assert!(sent.len() < 5);
    // The conversation stays complete, and has no trace of the summary's own stream.
    assert_eq!(world.messages().len(), 8);
    assert_eq!(world.machine.transcript().text(), "Yes.");
    let compacted = compactions(&world);
    assert_eq!(compacted.len(), 1);
    assert_eq!(
        compacted[0].summary.as_deref(),
        Some("They spoke of x and y.")
    );
    assert_eq!(compacted[0], *world.machine.transcript().compaction());
}

#[test]
fn the_model_of_the_summary_is_given_what_it_has_room_for() {
    let world = guarded(8_000, ContextPolicy::Fail, |config| {
        config.compaction = summary_policy();
        let CompactionWay::Summary(policy) = &mut config.compaction.ways[0] else {
            panic!("the way is a summary");
        };
        let model = policy.model.as_mut().expect("the policy has a model");
        // A context of 8,192 tokens.
        "openai".clone_into(&mut model.endpoint.provider);
        "gpt-4".clone_into(&mut model.endpoint.model);
    });
    let old =
        (0..40).map(|at| Message::user(format!("old-{at}"), format!("{at:04}{}", "x".repeat(990))));
    let world = with_history(world, old.collect())
        .streams(summary())
        .streams([text("Yes.")])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let asked = world.seen.requests()[0].to_string();
    // Seven tenths of the context, at 250 tokens for each message.
    assert_eq!(asked.matches("User: ").count(), 22);
    let begins_with = format!("[Earlier messages are left out.]{}User: 0011", r"\n\n");
    assert!(asked.contains(&begins_with), "{asked}");
    assert!(asked.contains("User: 0032") && !asked.contains("User: 0033"));
}

#[test]
fn the_next_turn_begins_from_the_summary() {
    let first = summarizing(|_| {})
        .streams(summary())
        .streams([text("Yes.")])
        .turn();
    let second = next_turn(&first, "2", TurnOptions::default());
    assert_eq!(opens(&second), ["open open:0:0"]);
    let requests = second.seen.requests();
    let sent = contents(&requests[0]);
    assert!(sent[0].contains("They spoke of x and y."));
    assert_eq!(sent.last(), Some(&"More"));
    assert!(compactions(&second).is_empty());
}

#[test]
fn a_later_turn_summarises_only_what_came_since() {
    let first = summarizing(|_| {})
        .streams(summary())
        .streams([text("Yes.")])
        .turn();
    let mut second = World::new((*first.config).clone());
    let history = first.machine.transcript().clone();
    second.machine = RunMachine::new(Arc::clone(&second.config), "thread".into(), history);
    second = second
        .streams([text("They spoke of z, too.")])
        .streams([text("Yes.")]);
    let long = Message::user("user-2", "z".repeat(4_000));
    let start = Start::new("run-2", long);
    second.input(Input::Start(Box::new(start))).expect("idle");
    second.drive();
    assert_eq!(*second.outcome(), Outcome::Success);
    let requests = second.seen.requests();
    let asked = requests[0].to_string();
    assert!(asked.contains("Summary of the messages before these"));
    assert!(asked.contains("They spoke of x and y."));
    assert!(
        !asked.contains(&"x".repeat(900)),
        "it was summarised before"
    );
    let sent = contents(&requests[1]);
    assert!(sent[0].ends_with("They spoke of z, too."));
    assert!(!sent.concat().contains("They spoke of x"));
}

#[test]
fn a_turn_can_take_the_summary_away() {
    let first = summarizing(|_| {})
        .streams(summary())
        .streams([text("Yes.")])
        .turn();
    let options = TurnOptions {
        whole_history: true,
        ..TurnOptions::default()
    };
    // It summarises again, from the complete conversation.
    let second = next_turn(&first, "2", options);
    let asked = second.seen.requests()[0].to_string();
    assert!(!asked.contains("They spoke of x and y."));
    assert!(asked.contains(&"x".repeat(900)));
    let compaction = second.machine.transcript().compaction();
    assert_eq!(compaction.summary.as_deref(), Some("Yes."));
}

#[test]
fn a_summary_is_retried_and_then_given_up() {
    let refused = || {
        Reply::Refused(Refusal {
            status: 500,
            ..Refusal::default()
        })
    };
    let faults = [
        refused(),
        Reply::Unreachable,
        Reply::Silent,
        Reply::Stalled(vec![text("They"), Part::Cut]),
        Reply::Broken(vec![text("They"), Part::Cut]),
        Reply::Complete(vec![text("They"), Part::Cut]),
        Reply::Complete(vec![Part::Error("overloaded_error".to_owned())]),
    ];
    for fault in faults {
        let world = summarizing(|_| {})
            .reply(fault.clone())
            .streams(summary())
            .streams([text("Yes.")])
            .turn();
        assert_eq!(*world.outcome(), Outcome::Success, "{fault:?}");
        assert_eq!(compactions(&world).len(), 1, "{fault:?}");
        assert_eq!(opens(&world).len(), 3, "{fault:?}");
    }
    // The request does not fit without a summary.
    let page = Reply::Body(Some("text/html"), b"<html>".to_vec());
    let world = summarizing(|_| {}).reply(page).turn();
    assert!(matches!(
        world.outcome(),
        Outcome::Failed {
            failure: Failure::ContextTooLong { .. }
        }
    ));
}

#[test]
fn a_turn_that_still_fits_continues_without_a_summary() {
    for empty in [false, true] {
        let mut world = summarizing(|config| config.context_guard.window = Some(1_700));
        world = if empty {
            world.streams([Part::Usage {
                input: 5,
                output: 1,
            }])
        } else {
            world.reply(Reply::Unreachable).reply(Reply::Unreachable)
        };
        let world = world
            .streams([call("c", "work", "{}")])
            .streams([text("Yes.")])
            .turn();
        let warnings = world.seen.warnings();
        assert!(
            warnings.iter().any(|it| it.contains("without a summary")),
            "{warnings:?}"
        );
        assert!(compactions(&world).is_empty());
        let requests = world.seen.requests();
        let of_summary = requests.iter().filter(|it| it["model"] == "cheap");
        assert_eq!(
            of_summary.count(),
            if empty { 1 } else { 2 },
            "none is asked for again"
        );
    }
}

#[test]
fn the_cost_of_a_summary_is_the_turns_own() {
    let world = stored(Dialect::OpenAiChat, |config| {
        config.context_guard.window = Some(1_500);
        config.compaction = summary_policy();
    });
    let world = with_history(world, long_history())
        .streams(summary())
        .streams([
            text("Yes."),
            Part::Usage {
                input: 400,
                output: 2,
            },
        ])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let usage = world.machine.usage();
    assert_eq!(usage.input_tokens, Some(900));
    // The turn's own model has no price.
    assert_eq!(usage.cost, Some(Usd::from_nanos(510)));
    let recorded = recorded_usage(&world);
    assert_eq!(recorded, usage.input_tokens);
}

fn recorded_usage(world: &World) -> Option<u64> {
    let blocks = world.store.turn.turn.blocks.iter();
    let usage = blocks.filter_map(|block| match &block.block.content {
        BlockContent::Usage { usage } | BlockContent::Compacted { usage, .. } => Some(usage),
        _ => None,
    });
    usage.flatten().map(|usage| usage.input_tokens).sum()
}

#[test]
fn cancel_cuts_a_summary_short() {
    for (state, reply) in [
        (StateKind::Opening, Reply::Silent),
        (
            StateKind::Summarizing,
            Reply::Stalled(vec![text("They"), Part::Cut]),
        ),
        (StateKind::Waiting, Reply::Unreachable),
    ] {
        let mut world = summarizing(|_| {}).reply(reply);
        world.send("Go on");
        world.drive_to(state);
        let given: Vec<_> = world.given.iter().copied().collect();
        world.cancel();
        assert_eq!(*world.outcome(), Outcome::Cancelled);
        assert!(world.given.is_empty(), "the host closes {given:?}");
        assert_eq!(world.messages().len(), 7);
        assert!(compactions(&world).is_empty());
    }
}

#[test]
fn a_kill_in_the_middle_of_a_summary_resumes_it() {
    for state in [
        StateKind::Opening,
        StateKind::Summarizing,
        StateKind::Waiting,
    ] {
        let world = stored(Dialect::OpenAiChat, |config| {
            config.context_guard.window = Some(1_500);
            config.compaction = summary_policy();
        });
        let mut world = with_history(world, long_history());
        world.store.turn.history = Transcript::new(long_history());
        world = world.reply(match state {
            StateKind::Waiting => Reply::Unreachable,
            _ => Reply::Stalled(vec![text("They"), Part::Cut]),
        });
        world.send("Go on");
        world.drive_to(state);
        let snapshot = world.machine.snapshot();
        let revived =
            RunMachine::revive(&snapshot, Arc::clone(&world.config), Timestamp(world.now))
                .expect("it was just written");
        world.replies = [
            Reply::Complete(summary()),
            Reply::Complete(vec![text("Yes.")]),
        ]
        .into();
        world.take_over(revived);
        world.drive();
        assert_eq!(*world.outcome(), Outcome::Success, "{state:?}");
        assert_eq!(compactions(&world).len(), 1, "{state:?}");
        let compaction = world.machine.transcript().compaction();
        assert_eq!(
            compaction.summary.as_deref(),
            Some("They spoke of x and y.")
        );
    }
}

#[test]
fn a_restored_run_continues_to_read_its_summary() {
    let mut world = summarizing(|_| {})
        .streams(summary())
        .streams([call("c", "work", "{}")])
        .streams([text("Yes.")]);
    world.tools.clear();
    world = world.tool("work", |_| ToolReply::text("ok"));
    world.restores = true;
    let world = world.turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(compactions(&world).len(), 1);
}

#[test]
fn another_network_asks_for_the_summary_again() {
    let mut world = summarizing(|config| {
        config.device.network_change = NetworkChangePolicy::Reopen;
    })
    .reply(Reply::Stalled(vec![text("They"), Part::Cut]))
    .streams(summary())
    .streams([text("Yes.")]);
    world.send("Go on");
    world.drive_to(StateKind::Summarizing);
    world.input(Input::NetworkLost).expect("at any time");
    world.input(Input::NetworkAvailable).expect("at any time");
    assert_eq!(world.machine.state(), StateKind::Opening);
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(compactions(&world).len(), 1);
}

#[test]
fn hooks_runs_and_credentials_are_those_of_the_hop() {
    let mut world = summarizing(|config| {
        config.run_ids = RunIds::Host;
        config.hooks = vec![HookSpec::new("look", HookMoment::ALL)];
        config.credentials = Credentials::Host;
    })
    .streams(summary())
    .streams([text("Yes.")]);
    world.credentials.push_back(Ok("key"));
    let world = world.turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let names = world.seen.effect_names();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "open open:0:0",
            "hook hook:before_request:0:0",
            "create create_run:0",
            "authorize authorize:0:1",
            "open open:0:1",
            "hook hook:after_answer:0:0",
        ]
    );
}

#[test]
fn old_results_are_dropped_before_the_request() {
    let world = guarded(3_500, ContextPolicy::Fail, |config| {
        config.compaction = CompactionPolicy::with(CompactionWay::DropResults { keep: 1 });
    })
    .streams([call("a", "work", "{\"n\":1}")])
    .streams([call("b", "work", "{\"n\":2}")])
    .streams([call("c", "work", "{\"n\":3}")])
    .streams([text("Yes.")])
    .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let requests = world.seen.requests();
    let sent = contents(&requests[3]);
    let long = "x".repeat(4_000);
    let complete = sent.iter().filter(|text| **text == long).count();
    let marked = sent
        .iter()
        .filter(|text| text.starts_with("[This result was left out"));
    assert_eq!((complete, marked.count()), (1, 2), "{sent:?}");
    let kept = serde_json::to_string(world.messages()).expect("JSON");
    assert!(!kept.contains("left out"), "the history has all of them");
    // What was dropped stays so: the prompt's start is that of the request before.
    let next = next_turn(&world, "2", TurnOptions::default());
    let requests = next.seen.requests();
    let marked = contents(&requests[0]);
    let marked = marked
        .iter()
        .filter(|text| text.starts_with("[This result"));
    assert_eq!(marked.count(), 2);
}

#[test]
fn ways_are_used_in_their_order_until_it_fits() {
    let mut world = guarded(1_500, ContextPolicy::Fail, |config| {
        config.compaction = CompactionPolicy {
            ways: vec![
                CompactionWay::DropResults { keep: 1 },
                CompactionWay::Host,
                summary_policy().ways.remove(0),
            ],
            ..CompactionPolicy::default()
        };
    });
    world = with_history(world, long_history())
        .streams(summary())
        .streams([text("Yes.")]);
    // The host keeps all that there is.
    world.trims.push_back(|overflow| {
        let ids = overflow.messages.iter().map(|message| message.id.clone());
        (ids.collect(), None)
    });
    let world = world.turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let names = world.seen.effect_names();
    assert_eq!(names, ["trim trim:0", "open open:0:0", "open open:0:1"]);
}

#[test]
fn a_host_that_cannot_trim_leaves_the_request_as_it_is() {
    let world = guarded(1_700, ContextPolicy::Fail, |config| {
        config.compaction = CompactionPolicy::with(CompactionWay::Host);
    });
    let world = with_history(world, long_history())
        .streams([text("Yes.")])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.seen.effect_names(), ["trim trim:0", "open open:0:0"]);
    assert!(world.seen.warnings()[0].contains("could not be trimmed"));
}

#[test]
fn the_hosts_choice_lasts_beyond_the_turn() {
    let mut world = guarded(1_500, ContextPolicy::Fail, |config| {
        config.compaction = CompactionPolicy::with(CompactionWay::Host);
    });
    world = with_history(world, long_history()).streams([text("Yes.")]);
    world
        .trims
        .push_back(|overflow| (overflow.newest(0.3), Some("In short.".to_owned())));
    let first = world.turn();
    let second = next_turn(&first, "2", TurnOptions::default());
    let requests = second.seen.requests();
    let sent = contents(&requests[0]);
    assert!(sent[0].ends_with("In short."), "{sent:?}");
    assert!(!sent.concat().contains(&"x".repeat(2_000)));
}

#[test]
fn an_agent_or_an_unknown_window_is_never_compacted() {
    let compacted = |dialect, window| {
        let world = crate::world::with(dialect, |config| {
            config.compaction = CompactionPolicy::with(CompactionWay::Host);
            config.context_guard.window = window;
            config.context_guard.at_limit = ContextPolicy::Send;
        });
        let world = with_history(world, long_history())
            .streams([text("Yes.")])
            .turn();
        let names = world.seen.effect_names();
        names.iter().any(|name| name.starts_with("trim"))
    };
    assert!(compacted(Dialect::OpenAiChat, Some(1_000)));
    assert!(!compacted(Dialect::AgUi, Some(1_000)));
    assert!(!compacted(Dialect::OpenAiChat, None));
}

#[test]
fn a_model_of_its_own_writes_the_summary_by_default() {
    let world = summarizing(|config| {
        config.compaction = CompactionPolicy::with(CompactionWay::Summary(SummaryPolicy {
            instructions: Some("Sum it up in Norwegian.".to_owned()),
            ..SummaryPolicy::default()
        }));
        config.settings.max_output_tokens = Some(7);
    })
    .streams(summary())
    .streams([text("Yes.")])
    .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let requests = world.seen.requests();
    assert_eq!(requests[0]["model"], requests[1]["model"]);
    assert_eq!(contents(&requests[0])[0], "Sum it up in Norwegian.");
    let asked = requests[0].to_string();
    assert!(
        !asked.contains(":7"),
        "the settings are those of answers: {asked}"
    );
}

#[test]
fn the_limit_is_a_part_of_the_context() {
    let with = |at| {
        let mut config = config(Dialect::OpenAiChat);
        config.compaction = summary_policy();
        config.compaction.at = at;
        config.check_compaction().is_ok()
    };
    assert!(with(0.01) && with(1.0));
    assert!(!with(0.0) && !with(-0.5) && !with(1.01) && !with(f64::NAN));
}

#[test]
fn a_request_of_just_the_limits_size_is_sent_as_it_is() {
    for (counted, summaries) in [(493, 0), (494, 1)] {
        let usage = Part::Usage {
            input: counted,
            output: 0,
        };
        let first = summarizing(|config| {
            config.context_guard.window = Some(1_000);
            config.compaction.at = 0.5;
        });
        let first = with_history(first, Vec::new())
            .streams([text("Yes."), usage])
            .turn();
        // The new message is estimated at seven tokens.
        let mut second = World::new((*first.config).clone());
        let history = first.machine.transcript().clone();
        second.machine = RunMachine::new(Arc::clone(&second.config), "thread".into(), history);
        second = second.streams(summary()).streams([text("Yes.")]);
        let start = Start::new("2", Message::user("user-2", "And so on"));
        second.input(Input::Start(Box::new(start))).expect("idle");
        second.drive();
        let asked = second.seen.requests().len();
        assert_eq!(asked - 1, summaries, "{counted}");
    }
}

#[test]
fn an_agent_writes_no_summaries() {
    let world = summarizing(|config| {
        let agent = config_of_agent();
        config.compaction = CompactionPolicy::with(CompactionWay::Summary(SummaryPolicy {
            model: Some(Box::new(agent.endpoint.into())),
            ..SummaryPolicy::default()
        }));
        assert!(config.check_compaction().is_err());
        config.context_guard.at_limit = ContextPolicy::Send;
    })
    .streams([text("Yes.")])
    .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert!(world.seen.warnings()[0].contains("writes no summaries"));
}

fn config_of_agent() -> RunConfig {
    config(Dialect::AgUi)
}

#[test]
fn messages_that_a_dead_host_showed_end_the_request_for_a_summary() {
    let mut world = summarizing(|_| {})
        .reply(Reply::Stalled(vec![text("They"), Part::Cut]))
        .reply(Reply::Silent)
        .streams(summary())
        .streams([text("Yes.")]);
    world.send("Go on");
    world.drive_to(StateKind::Summarizing);
    let revived = RunMachine::revive(
        &world.machine.snapshot(),
        Arc::clone(&world.config),
        Timestamp(world.now),
    );
    world.take_over(revived.expect("it was just written"));
    let shown = Message::Assistant(stepwell_core::event::AssistantMessage {
        id: "shown".into(),
        content: Some("I th".to_owned()),
        ..Default::default()
    });
    world
        .input(Input::Shown(vec![shown]))
        .expect("a new host says so");
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(
        world.machine.transcript().compaction().summary.as_deref(),
        Some("They spoke of x and y.")
    );
}

#[test]
fn a_compacted_turn_replays_and_can_be_redacted() {
    let mut world = guarded(1_500, ContextPolicy::Fail, |config| {
        config.compaction = summary_policy();
        config.durability = stepwell_core::run::Durability::Blocks { attempts: 1 };
    })
    .journaled();
    let history = Transcript::new(long_history());
    let journal =
        stepwell_core::journal::JournalWriter::new(&world.config, &"thread".into(), &history);
    world.machine = RunMachine::new(Arc::clone(&world.config), "thread".into(), history.clone());
    world.store.turn.history = history;
    world.journal = Some(journal);
    let mut world = world.streams(summary()).streams([text("Yes.")]).turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let text = written(&mut world);
    let journal = parsed(&text);
    journal.replay().expect("the same run");
    assert!(!journal.redact().contains("They spoke of x and y."));
}

#[test]
fn a_run_from_before_compaction_lasted_still_leaves_out_what_it_did() {
    let mut world = summarizing(|_| {}).reply(Reply::Silent);
    world.config = Arc::new({
        let mut config = (*world.config).clone();
        config.compaction = CompactionPolicy::default();
        config.context_guard.at_limit = ContextPolicy::Send;
        config
    });
    world = with_history(world, long_history());
    world.fallback_reply = Some(Reply::Silent);
    world.send("Go on");
    let mut snapshot: Value = serde_json::from_str(&world.machine.snapshot()).expect("JSON");
    snapshot["run"]["core"]["window"] = serde_json::json!({
        "told": false, "warns": false, "tokens": 0,
        "left_out": ["old-0", "answer-0"], "summary": "They met."
    });
    let now = Timestamp(world.now);
    let revived = RunMachine::revive(&snapshot.to_string(), Arc::clone(&world.config), now);
    world.take_over(revived.expect("it is still read"));
    let requests = world.seen.requests();
    let last = requests.last().expect("it is sent again");
    let sent = contents(last);
    assert!(sent[0].ends_with("They met."), "{sent:?}");
    assert_eq!(sent.len(), 6);
}

#[test]
fn the_blocks_rebuild_the_compaction() {
    let world = stored(Dialect::OpenAiChat, |config| {
        config.context_guard.window = Some(1_500);
        config.compaction = summary_policy();
    });
    let mut world = with_history(world, long_history());
    world.store.turn.history = Transcript::new(long_history());
    let world = world.streams(summary()).streams([text("Yes.")]).turn();
    let blocks: Vec<&Block> = world
        .store
        .turn
        .turn
        .blocks
        .iter()
        .map(|it| &it.block)
        .collect();
    let compacted = blocks.iter().find_map(|block| match &block.content {
        BlockContent::Compacted { compaction, .. } => Some(compaction),
        _ => None,
    });
    assert_eq!(compacted, Some(world.machine.transcript().compaction()));
    assert!(!compacted.expect("it is recorded").is_none());
    let effect = EffectId::Open { hop: 0, attempt: 1 };
    assert!(
        world
            .seen
            .effect_names()
            .contains(&format!("open {effect}"))
    );
    let carried = world.seen.requests();
    assert!(
        !carried[1].to_string().contains(SUMMARY),
        "ids are not sent"
    );
}
