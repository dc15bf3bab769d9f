//! Random conversations: whatever the way to compact one, a call and its results stay together, and so do reasoning and the
//! answer that it led to.

use crate::cases::cases;
use crate::compaction::summary_policy;
use crate::world::{Reply, World, config};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use stepwell_core::MessageId;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::{AssistantMessage, Message, ReasoningMessage, ToolCall, ToolMessage};
use stepwell_core::run::{
    CompactionPolicy, CompactionWay, ContextOverflow, ContextPolicy, Effect, HookMoment, HookSpec,
    HookSubject, Input, Output, RunMachine, Start,
};
use stepwell_core::transcript::{SUMMARY, Transcript};
use stepwell_testing::history::check_history;
use stepwell_testing::reply::text;

/// One exchange of a conversation, in the few numbers that it was drawn from.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    thinks: bool,
    calls: u8,
    is_answered: bool,
    length: u16,
    reuses_ids: bool,
}

fn exchanges() -> impl Strategy<Value = Vec<Exchange>> {
    let flags = (any::<bool>(), any::<bool>(), prop::bool::weighted(0.2));
    let one = (flags, 0..4u8, 1..3_000u16).prop_map(|(flags, calls, length)| {
        let (thinks, is_answered, reuses_ids) = flags;
        Exchange {
            thinks,
            calls,
            is_answered,
            length,
            reuses_ids,
        }
    });
    prop::collection::vec(one, 1..12)
}

fn conversation(exchanges: &[Exchange]) -> Vec<Message> {
    let mut messages = Vec::new();
    for (at, exchange) in exchanges.iter().enumerate() {
        let long = "x".repeat(usize::from(exchange.length));
        messages.push(Message::user(format!("u{at}"), long.clone()));
        if exchange.thinks {
            messages.push(Message::Reasoning(ReasoningMessage {
                id: format!("r{at}").into(),
                content: "Hm.".to_owned(),
                encrypted_value: Some(format!("signature {at}")),
                ..ReasoningMessage::default()
            }));
        }
        let id = |call: u8| {
            let turn = if exchange.reuses_ids { 0 } else { at };
            format!("c{turn}-{call}")
        };
        messages.push(Message::Assistant(AssistantMessage {
            id: format!("a{at}").into(),
            content: Some("Let me see.".to_owned()),
            tool_calls: (0..exchange.calls)
                .map(|call| ToolCall::new(id(call), "work", "{}"))
                .collect(),
            ..AssistantMessage::default()
        }));
        for call in 0..exchange.calls {
            messages.push(Message::Tool(ToolMessage {
                id: format!("t{at}-{call}").into(),
                tool_call_id: id(call).into(),
                content: long.as_str().into(),
                ..ToolMessage::default()
            }));
        }
        if exchange.is_answered {
            messages.push(Message::Assistant(AssistantMessage {
                id: format!("b{at}").into(),
                content: Some("Done.".to_owned()),
                ..AssistantMessage::default()
            }));
        }
    }
    messages
}

fn way(number: u8) -> CompactionPolicy {
    let policy = |way| CompactionPolicy::with(way);
    match number {
        0 => policy(CompactionWay::DropResults { keep: 2 }),
        1 => policy(CompactionWay::Host),
        2 => summary_policy(),
        _ => CompactionPolicy {
            at: 0.3,
            ways: vec![
                CompactionWay::DropResults { keep: 0 },
                CompactionWay::Host,
                summary_policy().ways.remove(0),
            ],
        },
    }
}

/// Keeps every third message, whatever it is.
fn every_third(overflow: &ContextOverflow) -> (Vec<MessageId>, Option<String>) {
    let ids = overflow.messages.iter().step_by(3);
    (ids.map(|message| message.id.clone()).collect(), None)
}

/// Returns the messages that the hop's request carries, as a hook sees them.
fn carried(world: &World) -> Option<Vec<Message>> {
    let outputs = world.seen.outputs.iter().rev();
    let mut subjects = outputs.filter_map(|output| match output {
        Output::Effect(_, Effect::RunHook { subject, .. }) => Some(subject),
        _ => None,
    });
    match &**subjects.next()? {
        HookSubject::Request(request) => Some(request.messages.clone()),
        other => panic!("{other:?} is no request"),
    }
}

/// Checks that what belongs together is together, and unchanged but for results.
fn check_groups(all: &[Message], carried: &[Message]) -> Result<(), String> {
    let kept: BTreeSet<&str> = carried
        .iter()
        .map(|message| message.id().as_str())
        .collect();
    for (at, message) in all.iter().enumerate() {
        let is_kept = kept.contains(message.id().as_str());
        let group = match message {
            Message::Reasoning(_) => all.get(at + 1),
            Message::Tool(_) => {
                let before = all[..at].iter().rev();
                before
                    .clone()
                    .find(|message| matches!(message, Message::Assistant(_)))
            }
            _ => None,
        };
        if let Some(other) = group
            && kept.contains(other.id().as_str()) != is_kept
        {
            return Err(format!("{} was parted from {}", message.id(), other.id()));
        }
    }
    let mut rest = all.iter();
    for message in carried.iter().filter(|message| *message.id() != *SUMMARY) {
        let Some(own) = rest.find(|own| own.id() == message.id()) else {
            return Err(format!("{} is not where it was", message.id()));
        };
        let is_same = match (own, message) {
            (Message::Tool(own), Message::Tool(sent)) => {
                let text = sent.content.to_text();
                own.tool_call_id == sent.tool_call_id
                    && (own.content == sent.content || text.starts_with("[This result"))
            }
            (own, message) => own == message,
        };
        if !is_same {
            return Err(format!("{} was changed", message.id()));
        }
    }
    check_history(carried)
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn what_belongs_together_stays_together(
        exchanges in exchanges(),
        number in 0..4u8,
        window in 400..6_000u64,
        keep in 0.0..1.0f64,
        turns in 1..4usize,
    ) {
        let mut config = config(Dialect::OpenAiChat);
        config.compaction = way(number);
        for way in &mut config.compaction.ways {
            if let CompactionWay::Summary(policy) = way {
                policy.keep = keep;
            }
        }
        config.context_guard.window = Some(window);
        config.context_guard.at_limit = ContextPolicy::Send;
        config.hooks = vec![HookSpec::new("look", [HookMoment::BeforeRequest])];
        let config = Arc::new(config);
        let mut history = Transcript::new(conversation(&exchanges));
        for turn in 0..turns {
            let mut world = World::new((*config).clone());
            world.machine = RunMachine::new(Arc::clone(&world.config), "thread".into(), history);
            world.fallback_reply = Some(Reply::Complete(vec![text("So it was.")]));
            world.trims.push_back(every_third);
            let message = Message::user(format!("user-{turn}"), "Go on");
            let start = Start::new(format!("run-{turn}"), message);
            world.input(Input::Start(Box::new(start))).expect("it is idle");
            world.drive();
            let all = world.messages();
            let sent = carried(&world).expect("a request was made");
            let before = &all[..all.len() - 1];
            if let Err(fault) = check_groups(before, &sent) {
                return Err(TestCaseError::fail(fault));
            }
            history = world.machine.transcript().clone();
        }
    }
}
