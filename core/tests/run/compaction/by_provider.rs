//! Compaction by the provider: the request that asks for it, the answer that has it, and the requests afterwards.

use crate::compaction::{compactions, next_turn, summary_policy};
use crate::context::{guarded, long_history, with_history};
use crate::durability::stored;
use crate::world::{Reply, World};
use serde_json::{Value, json};
use std::sync::Arc;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::run::{
    BlockContent, CompactionPolicy, CompactionWay, ContextPolicy, FallbackModel, Input, Outcome,
    Refusal, RunConfig, RunEvent, RunMachine, Start, SummaryPolicy, TurnOptions,
};
use stepwell_testing::reply::text;
use stepwell_testing::world::Ending;

const WINDOW: u64 = 100_000;

fn by_provider(dialect: Dialect, window: u64, change: impl FnOnce(&mut RunConfig)) -> World {
    let world = guarded(window, ContextPolicy::Fail, |config| {
        config.endpoint = crate::world::config(dialect).endpoint;
        config.compaction = CompactionPolicy::with(CompactionWay::Provider);
        change(config);
    });
    with_history(world, long_history())
}

fn frames(events: &[Value]) -> Reply {
    let frames = events.iter().map(|event| {
        let kind = event["type"].as_str().unwrap_or_default();
        format!("event: {kind}\ndata: {event}\n\n")
    });
    Reply::Bytes(frames.collect::<String>().into_bytes(), Ending::Complete)
}

/// An answer of Anthropic's that begins with a compaction.
fn anthropic_compacts(content: &Value) -> Reply {
    let usage = json!({
        "input_tokens": 900, "output_tokens": 20,
        "iterations": [{"type": "compaction", "input_tokens": 80_000, "output_tokens": 300}],
    });
    frames(&[
        json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 900, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "compaction"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "compaction_delta", "content": content}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Yes."}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}),
        json!({"type": "message_stop"}),
    ])
}

/// An answer of OpenAI's that begins with a compaction.
fn openai_compacts(sealed: &str) -> Reply {
    let item = json!({"type": "compaction", "id": "cmp", "encrypted_content": sealed});
    let message = json!({"type": "message", "id": "msg", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]});
    frames(&[
        json!({"type": "response.created", "response": {"id": "r", "status": "in_progress"}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.output_item.added", "output_index": 1, "item": {"type": "message", "id": "msg", "role": "assistant", "content": []}}),
        json!({"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": "Yes."}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": message}),
        json!({"type": "response.completed", "response": {
            "id": "r", "status": "completed", "output": [item, message],
            "usage": {"input_tokens": 90_000, "output_tokens": 20, "total_tokens": 90_020},
        }}),
    ])
}

/// An answer of OpenAI's to a request of this many tokens.
fn openai_counts(tokens: u64) -> Reply {
    let usage = json!({"input_tokens": tokens, "output_tokens": 20, "total_tokens": tokens + 20});
    frames(&[
        json!({"type": "response.created", "response": {"id": "r", "status": "in_progress"}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "msg", "role": "assistant", "content": []}}),
        json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Yes."}),
        json!({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [], "usage": usage}}),
    ])
}

fn compacts(dialect: Dialect) -> Reply {
    match dialect {
        Dialect::Anthropic => anthropic_compacts(&json!("They spoke of x and y.")),
        _ => openai_compacts("c2VhbA"),
    }
}

/// Takes another turn of the conversation.
fn continued(first: &World, config: RunConfig, replies: impl IntoIterator<Item = Reply>) -> World {
    let mut next = World::new(config);
    let history = first.machine.transcript().clone();
    next.machine = RunMachine::new(Arc::clone(&next.config), "thread".into(), history);
    next = replies.into_iter().fold(next, World::reply);
    let start = Start::new("2", Message::user("user-2", "More"));
    next.input(Input::Start(Box::new(start)))
        .expect("the machine is idle");
    next.drive();
    next
}

const BOTH: [Dialect; 2] = [Dialect::Anthropic, Dialect::OpenAiResponses];

/// The messages of a request, each as its JSON.
fn sent(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array();
    let messages = messages.or_else(|| request["input"].as_array());
    messages
        .into_iter()
        .flatten()
        .map(Value::to_string)
        .collect()
}

#[test]
fn the_provider_is_asked_and_what_it_says_takes_the_place_of_the_messages_before() {
    for dialect in BOTH {
        let first = by_provider(dialect, WINDOW, |_| {})
            .reply(compacts(dialect))
            .turn();
        assert_eq!(*first.outcome(), Outcome::Success);
        let request = &first.seen.requests()[0];
        let setting = match dialect {
            Dialect::Anthropic => json!({"edits": [{
                "type": "compact_20260112",
                "trigger": {"type": "input_tokens", "value": 80_000},
            }]}),
            _ => json!([{"type": "compaction", "compact_threshold": 80_000}]),
        };
        assert_eq!(request["context_management"], setting);
        assert_eq!(sent(request).len(), 7);
        let compacted = compactions(&first);
        let by_provider = compacted[0].by_provider.as_ref().expect("the provider did");
        assert!(
            first
                .messages()
                .iter()
                .any(|message| message.id() == by_provider)
        );
        assert_eq!(compacted[0], *first.machine.transcript().compaction());
        assert_eq!(
            first.messages().len(),
            if dialect == Dialect::Anthropic { 8 } else { 9 }
        );
        // The store has it too, and the next turn begins with it.
        let second = next_turn(&first, "2", TurnOptions::default());
        let request = &second.seen.requests()[0];
        let messages = sent(request);
        assert!(!request.to_string().contains("xxx"), "{messages:?}");
        let at = messages
            .iter()
            .position(|message| message.contains("compaction"));
        assert!(at <= Some(1), "{messages:?}");
        assert!(messages.last().is_some_and(|last| last.contains("More")));
        assert!(compactions(&second).is_empty());
    }
}

#[test]
fn what_the_answer_stands_for_is_reported_as_left_out() {
    let mut history = long_history();
    history.insert(0, Message::system("rules", "Be kind."));
    history.insert(3, activity("shown"));
    let first = by_provider(Dialect::Anthropic, WINDOW, |_| {});
    let first = with_history(first, history)
        .reply(compacts(Dialect::Anthropic))
        .turn();
    let mut events = first.seen.events();
    let left_out = events.find_map(|event| match event {
        RunEvent::ContextTrimmed { left_out, .. } => Some(left_out.clone()),
        _ => None,
    });
    let expected = [
        "old-0", "answer-0", "old-1", "answer-1", "old-2", "answer-2", "user-1",
    ];
    assert_eq!(left_out.expect("it is reported"), expected);
}

fn activity(id: &str) -> Message {
    let activity = json!({ "id": id, "role": "activity", "activityType": "map", "content": {} });
    serde_json::from_value(activity).expect("an activity")
}

#[test]
fn what_the_provider_wants_back_counts_for_the_size_of_the_next_request() {
    for (bytes, is_summarized) in [(40_000, false), (240_000, true)] {
        let sealed = "c2Vh".repeat(bytes / 4);
        let first = by_provider(Dialect::OpenAiResponses, WINDOW, |_| {})
            .reply(openai_compacts(&sealed))
            .turn();
        let mut config = (*first.config).clone();
        config.context_guard.window = Some(50_000);
        config.compaction = summary_policy();
        let replies = ["In short.", "Yes."].map(|said| Reply::Complete(vec![text(said)]));
        let next = continued(&first, config, replies);
        let asks_summary = next.seen.requests()[0]["model"] == "cheap";
        assert_eq!(asks_summary, is_summarized, "{bytes}");
    }
}

#[test]
fn the_whole_history_is_sent_without_what_the_provider_made_of_it() {
    for dialect in BOTH {
        let first = by_provider(dialect, WINDOW, |_| {})
            .reply(compacts(dialect))
            .turn();
        let whole = TurnOptions {
            whole_history: true,
            ..TurnOptions::default()
        };
        let second = next_turn(&first, "2", whole);
        let request = second.seen.requests()[0].to_string();
        assert!(request.contains("xxx") && request.contains("Yes."));
        assert!(!request.contains("They spoke") && !request.contains("c2VhbA"));
        assert_eq!(compactions(&second).len(), 1);
        // It stays so.
        let third = next_turn(&second, "3", TurnOptions::default());
        let request = third.seen.requests()[0].to_string();
        assert!(request.contains("xxx") && !request.contains("They spoke"));
    }
}

#[test]
fn another_provider_is_sent_the_messages_that_were_compacted() {
    let first = by_provider(Dialect::Anthropic, WINDOW, |config| {
        let other = crate::world::config(Dialect::OpenAiChat).endpoint;
        config.fallback.models = vec![FallbackModel::from(other)];
    })
    .reply(compacts(Dialect::Anthropic))
    .turn();
    let overloaded = || {
        Reply::Refused(Refusal {
            status: 529,
            ..Default::default()
        })
    };
    let config = (*first.config).clone();
    let second = continued(&first, config, (0..10).map(|_| overloaded()));
    let requests = second.seen.requests();
    assert!(!requests[0].to_string().contains("xxx"));
    let other = requests.last().expect("a request").to_string();
    assert!(
        other.contains("xxx") && !other.contains("They spoke"),
        "{other}"
    );
}

#[test]
fn a_compaction_that_failed_leaves_nothing_out() {
    let first = by_provider(Dialect::Anthropic, WINDOW, |_| {})
        .reply(anthropic_compacts(&json!(null)))
        .turn();
    assert!(compactions(&first).is_empty());
    let second = next_turn(&first, "2", TurnOptions::default());
    assert!(second.seen.requests()[0].to_string().contains("xxx"));
}

#[test]
fn the_tokens_of_the_compaction_are_counted_but_not_for_the_next_request() {
    let first = by_provider(Dialect::Anthropic, WINDOW, |config| {
        config
            .compaction
            .ways
            .push(CompactionWay::DropResults { keep: 0 });
    })
    .reply(compacts(Dialect::Anthropic))
    .turn();
    let usage = &first.machine.transcript().summary().usage[0];
    assert_eq!(usage.input_tokens, Some(80_900));
    assert_eq!(usage.output_tokens, Some(320));
    assert_eq!(Dialect::Anthropic.context_tokens(usage), Some(920));
}

#[test]
fn what_openai_counted_before_it_compacted_is_not_the_size_of_the_next_request() {
    let first = by_provider(Dialect::OpenAiResponses, WINDOW, |config| {
        config
            .compaction
            .ways
            .push(CompactionWay::Summary(SummaryPolicy::default()));
    });
    let first = first.reply(compacts(Dialect::OpenAiResponses)).turn();
    let mut config = (*first.config).clone();
    // The count of 90,000 tokens would not fit, and would be compacted again.
    config.context_guard.window = Some(50_000);
    let second = continued(&first, config, [compacts(Dialect::OpenAiResponses)]);
    assert_eq!(*second.outcome(), Outcome::Success);
    assert_eq!(second.seen.requests().len(), 1);
    assert!(second.seen.requests()[0].to_string().contains("More"));
    // What it counted of a conversation that it did not compact is.
    let mut config = (*first.config).clone();
    config.compaction = summary_policy();
    let counted = by_provider(Dialect::OpenAiResponses, WINDOW, |_| {});
    let counted = counted.reply(openai_counts(90_000)).turn();
    let replies = ["In short.", "Yes."].map(|said| Reply::Complete(vec![text(said)]));
    let next = continued(&counted, config, replies);
    assert_eq!(next.seen.requests()[0]["model"], "cheap");
}

#[test]
fn the_next_way_is_used_where_the_provider_cannot_or_the_request_would_not_fit() {
    let summarized = |dialect, window| {
        let world = by_provider(dialect, window, |config| {
            config.compaction.ways.extend(summary_policy().ways);
        });
        let world = world.streams([text("They spoke of x and y.")]);
        world.streams([text("Yes.")]).turn()
    };
    // A provider that does not compact.
    let other = summarized(Dialect::OpenAiChat, 1_500);
    let requests = other.seen.requests();
    assert_eq!(requests[0]["model"], "cheap");
    assert!(requests[1].get("context_management").is_none());
    assert!(other.machine.transcript().compaction().summary.is_some());
    // A request that does not fit.
    let too_long = summarized(Dialect::Anthropic, 1_500);
    assert_eq!(too_long.seen.requests()[0]["model"], "cheap");
    // One that fits is left to the provider.
    let world = by_provider(Dialect::OpenAiResponses, 1_900, |config| {
        config.compaction.ways.extend(summary_policy().ways);
    });
    let fits = world.reply(compacts(Dialect::OpenAiResponses)).turn();
    assert_eq!(fits.seen.requests().len(), 1);
    assert_eq!(*fits.outcome(), Outcome::Success);
}

#[test]
fn a_later_summary_covers_what_the_provider_had_compacted() {
    let first = by_provider(Dialect::Anthropic, WINDOW, |_| {})
        .reply(compacts(Dialect::Anthropic))
        .turn();
    let mut config = (*first.config).clone();
    config.compaction = summary_policy();
    config.context_guard.window = Some(1_000);
    let replies = ["In short.", "Yes."].map(|said| Reply::Complete(vec![text(said)]));
    let second = continued(&first, config, replies);
    let asked = second.seen.requests();
    assert_eq!(asked[0]["model"], "cheap");
    assert!(asked[0].to_string().contains("User: xxx"));
    assert!(asked[1].to_string().contains("In short."));
}

#[test]
fn the_store_has_the_compaction() {
    for dialect in BOTH {
        let mut world = stored(dialect, |config| {
            config.context_guard.window = Some(WINDOW);
            config.compaction = CompactionPolicy::with(CompactionWay::Provider);
        })
        .reply(compacts(dialect));
        world.send("Go on");
        world.drive();
        let blocks = world.store.turn.turn.blocks.iter();
        let mut compacted = blocks.filter_map(|block| match &block.block.content {
            BlockContent::Compacted { compaction, .. } => Some(compaction),
            _ => None,
        });
        let compaction = world.machine.transcript().compaction();
        assert!(compaction.by_provider.is_some());
        assert_eq!(compacted.next(), Some(compaction));
        let restored = world.stored_run();
        assert_eq!(restored.transcript().compaction(), compaction);
    }
}
