//! What must hold of the store, of the tools and of what the clients were told, in the end.

use crate::client::Told;
use crate::model::{CALLS, ROUNDS};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use stepwell_core::conversation::Conversation;
use stepwell_core::event::{Event, EventRef, Message, MessageContent};
use stepwell_core::run::{BlockContent, Failure, Outcome, TurnStatus};
use stepwell_core::session::{MessageBuilder, Turn};
use stepwell_io::store::{Store, TurnKey};

#[derive(Default)]
struct Counts {
    broken_off: usize,
    blocks: usize,
    events: usize,
    calls: usize,
    unknown: usize,
    restarts: usize,
    acknowledged: usize,
}

pub(crate) async fn of(store: &dyn Store, told: &[Told], effects: &Path) -> String {
    assert_eq!(store.unfinished(None).await, Ok(Vec::new()));
    let effects = std::fs::read_to_string(effects).unwrap();
    let mut runs: HashMap<&str, u32> = HashMap::new();
    for call in effects.lines() {
        *runs.entry(call).or_default() += 1;
    }
    let mut counts = Counts::default();
    let mut stored = HashMap::new();
    for told in told {
        let key = TurnKey::new(stepwell_io::ThreadKey::from(&*told.thread), told.turn());
        let turn = store.turn(&key).await.unwrap().unwrap();
        let results = judge_blocks(&turn, &runs, &mut counts);
        let log = log(store, &key).await;
        let screen = screen(store, &key).await;
        judge_log(&turn, &log, told, screen, &results, &mut counts);
        let noted = store.event_log(&key).await.unwrap();
        assert!(
            noted.acknowledged >= told.acknowledged && noted.acknowledged < Some(noted.next),
            "{}: {noted:?}, and the client has {:?}",
            turn.id,
            told.acknowledged
        );
        counts.acknowledged += usize::from(told.acknowledged.is_some());
        stored.extend(results);
    }
    for (call, times) in &runs {
        assert!(
            stored.contains_key(*call),
            "{call} was run, and is not stored"
        );
        let is_idempotent = call.ends_with("look");
        assert!(*times == 1 || is_idempotent, "{call} was run {times} times");
    }
    let again = runs.values().filter(|times| **times > 1).count();
    let Counts {
        broken_off,
        blocks,
        events,
        calls,
        unknown,
        restarts,
        acknowledged,
    } = counts;
    format!(
        "{} turns ended ({broken_off} broke off in an answer, {restarts} went on after a kill), {blocks} blocks, {events} \
         events, {acknowledged} turns acknowledged in part, {calls} calls: {} runs, {unknown} calls of unknown outcome, \
         {again} idempotent calls run again",
        told.len(),
        effects.lines().count(),
    )
}

/// What a client has on its screen when the turn begins.
async fn screen(store: &dyn Store, key: &TurnKey) -> Conversation {
    let mut path = store.path(key).await.unwrap();
    let turn = path.pop().unwrap();
    let before = MessageBuilder::new().conversation(&path).unwrap();
    let messages = before.messages().iter().cloned();
    Conversation::new(messages.chain(turn.message).collect())
}

/// All events of a turn.
async fn log(store: &dyn Store, key: &TurnKey) -> Vec<String> {
    let events = store.events(key, None, usize::MAX >> 1).await.unwrap();
    for (index, event) in events.iter().enumerate() {
        assert_eq!(event.index, index as u64, "{key}");
    }
    events.into_iter().map(|event| event.data).collect()
}

/// The results of the turn's calls.
fn judge_blocks(
    turn: &Turn,
    runs: &HashMap<&str, u32>,
    counts: &mut Counts,
) -> HashMap<String, MessageContent> {
    let id = &turn.id;
    let is_whole = match &turn.outcome {
        Some(Outcome::Success) => turn.status == TurnStatus::Complete,
        // Killed when a part of the answer was stored: what was said stands, and the turn says that it broke off.
        Some(Outcome::Failed {
            failure: Failure::Connection { message },
        }) if message.contains("the host stopped") => {
            assert_eq!(turn.status, TurnStatus::Failed, "{id}");
            counts.broken_off += 1;
            false
        }
        other => panic!("{id}: {other:?}"),
    };
    counts.blocks += turn.blocks.len();
    let mut asked = Vec::new();
    let mut results = HashMap::new();
    for (number, block) in turn.blocks.iter().enumerate() {
        assert_eq!(block.block.sequence, number as u64, "{id}");
        match &block.block.content {
            BlockContent::ToolUse { tool_call_id, .. } => asked.push(tool_call_id.to_string()),
            BlockContent::ToolResult {
                tool_call_id,
                is_error,
                content,
                ..
            } => {
                let run = runs.get(&**tool_call_id).copied().unwrap_or(0);
                assert!(
                    run > 0 || *is_error,
                    "{tool_call_id} has a result and was not run"
                );
                counts.unknown += usize::from(*is_error);
                let before = results.insert(tool_call_id.to_string(), content.clone());
                assert_eq!(before, None, "{tool_call_id} has two results");
            }
            _ => {}
        }
    }
    counts.calls += asked.len();
    let expected = (0..ROUNDS).flat_map(|round| {
        let calls = CALLS.iter().enumerate();
        calls.map(move |(index, name)| format!("{id}/{round}/{index}/{name}"))
    });
    let expected: Vec<_> = expected.collect();
    assert!(asked == expected || !is_whole, "{id}: {asked:?}");
    assert!(expected.starts_with(&asked), "{id}: {asked:?}");
    let answered = asked.iter().filter(|call| results.contains_key(*call));
    assert_eq!(
        answered.count(),
        asked.len(),
        "{id}: each call has a result"
    );
    assert_eq!(results.len(), asked.len(), "{id}: each result has a call");
    let words = words(turn);
    let whole = "Round 0 of the answer.Round 1 of the answer.Round 2 of the answer.";
    assert!(
        if is_whole {
            words == whole
        } else {
            whole.starts_with(&words)
        },
        "{id}: each word is stored once: {words}"
    );
    results
}

fn words(turn: &Turn) -> String {
    let texts = turn
        .blocks
        .iter()
        .filter_map(|block| match &block.block.content {
            BlockContent::Text { text, .. } => Some(text.as_str()),
            _ => None,
        });
    texts.collect()
}

fn judge_log(
    turn: &Turn,
    log: &[String],
    told: &Told,
    mut shown: Conversation,
    results: &HashMap<String, MessageContent>,
    counts: &mut Counts,
) {
    let id = &turn.id;
    counts.events += log.len();
    // What was told stands, and all was told.
    assert_eq!(log, told.events, "{id}");
    let kinds = log.iter().map(|data| {
        let event: Value = serde_json::from_str(data).unwrap();
        event["type"].as_str().unwrap().to_owned()
    });
    let kinds: Vec<_> = kinds.collect();
    let is_end = |kind: &&String| ["RUN_FINISHED", "RUN_ERROR"].contains(&kind.as_str());
    assert_eq!(kinds.iter().filter(is_end).count(), 1, "{id}: {kinds:?}");
    assert!(kinds.last().as_ref().is_some_and(is_end), "{id}: {kinds:?}");
    counts.restarts += usize::from(kinds.iter().any(|kind| kind == "MESSAGES_SNAPSHOT"));

    let mut answered = HashMap::new();
    for data in log {
        let event: Event = serde_json::from_str(data).unwrap();
        let _ = shown.apply(EventRef::from(&event));
        if let Event::ToolCallResult(result) = event {
            let before = answered.insert(result.tool_call_id.to_string(), result.content);
            assert_eq!(before, None, "{id}: a result is told once");
        }
    }
    // What a client has seen of a tool is what the tool has done, also after a kill.
    for (call, content) in &answered {
        assert_eq!(results.get(call), Some(content), "{call}");
    }
    // Who watched the turn has on the screen what is stored of it.
    let texts = shown.messages().iter().filter_map(|message| match message {
        Message::Assistant(message) => message.content.clone(),
        _ => None,
    });
    let texts: String = texts.collect();
    assert!(
        texts.ends_with(&words(turn)),
        "{id}: `{texts}` is shown, and `{}` stored: {log:#?}",
        words(turn)
    );
}
