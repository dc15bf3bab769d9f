//! Compaction: what requests leave out of a long conversation, and the summary that a model writes of it.

mod by_provider;
mod failing;
mod histories;
mod policy;
mod stored;

use crate::context::{guarded, long_history, with_history};
use crate::durability::stored;
use crate::world::{World, config};
use serde_json::Value;
use std::sync::Arc;
use stepwell_core::Usd;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::provider::ModelPrice;
use stepwell_core::run::{
    BlockContent, CompactionPolicy, CompactionWay, ContextPolicy, Input, Outcome, RunConfig,
    RunEvent, RunMachine, Start, SummaryPolicy, TurnOptions,
};
use stepwell_core::transcript::Compaction;
use stepwell_testing::reply::{Part, text};

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
    let old = (0..40)
        .map(|at| Message::user(format!("old-{at}"), format!("{at:04}{}", "x".repeat(1_082))));
    let world = with_history(world, old.collect())
        .streams(summary())
        .streams([text("Yes.")])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let asked = world.seen.requests()[0].to_string();
    // Seven tenths of the context are 5,733 tokens, and each message has 273.
    assert_eq!(asked.matches("User: ").count(), 21);
    let begins_with = format!("[Earlier messages are left out.]{}User: 0012", r"\n\n");
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
    // A summary that says nothing costs, too.
    let world = stored(Dialect::OpenAiChat, |config| {
        config.context_guard.window = Some(1_700);
        config.compaction = summary_policy();
    });
    let world = with_history(world, long_history())
        .streams([Part::Usage {
            input: 500,
            output: 1,
        }])
        .streams([text("Yes.")])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert!(compactions(&world).is_empty());
    assert_eq!(recorded_usage(&world), Some(500));
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
