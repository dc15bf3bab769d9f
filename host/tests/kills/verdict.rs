//! What must hold of the store, of the tools and of what the clients were told, in the end.

use crate::client::Told;
use crate::model::{CALLS, ROUNDS};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use stepwell_core::conversation::Conversation;
use stepwell_core::event::{
    AssistantMessage, Event, EventRef, Message, MessageContent, ReasoningMessage,
};
use stepwell_core::run::{BlockContent, CUT, Outcome, TurnStatus};
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
    assert_eq!(turn.outcome, Some(Outcome::Success), "{id}");
    assert_eq!(turn.status, TurnStatus::Complete, "{id}");
    // Killed in the middle of an answer: what was said stands, marked as cut, and the answer was asked for anew.
    let messages = messages(turn);
    let is_whole = !messages.iter().any(is_cut);
    counts.broken_off += usize::from(!is_whole);
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
    let mut distinct = HashSet::new();
    let is_expected = |call: &String| expected.contains(call) && distinct.insert(call.clone());
    assert!(asked.iter().all(is_expected), "{id}: {asked:?}");
    let answered = asked.iter().filter(|call| results.contains_key(*call));
    assert_eq!(
        answered.count(),
        asked.len(),
        "{id}: each call has a result"
    );
    assert_eq!(results.len(), asked.len(), "{id}: each result has a call");
    let whole = "Round 0 of the answer.Round 1 of the answer.Round 2 of the answer.";
    let words = texts(&messages);
    assert!(
        words.concat() == whole || !is_whole,
        "{id}: each word is stored once: {words:?}"
    );
    // One that was cut is the beginning of a round, and the last is whole.
    assert!(
        words.iter().all(|text| whole.contains(text)),
        "{id}: {words:?}"
    );
    assert!(
        messages.last().is_some_and(|last| !is_cut(last)),
        "{id}: {words:?}"
    );
    results
}

/// The messages that the turn's blocks come to.
fn messages(turn: &Turn) -> Vec<Message> {
    let alone = Turn {
        parent: None,
        ..turn.clone()
    };
    MessageBuilder::new().messages([&alone]).unwrap()
}

fn is_cut(message: &Message) -> bool {
    let (Message::Assistant(AssistantMessage { metadata, .. })
    | Message::Reasoning(ReasoningMessage { metadata, .. })) = message
    else {
        return false;
    };
    let metadata = metadata.as_ref();
    metadata.is_some_and(|metadata| metadata.get(CUT) == Some(&true.into()))
}

fn result_of<'a>(messages: &'a [Message], call: &str) -> Option<&'a MessageContent> {
    messages.iter().find_map(|message| match message {
        Message::Tool(result) if *result.tool_call_id == *call => Some(&result.content),
        _ => None,
    })
}

fn texts(messages: &[Message]) -> Vec<&str> {
    let texts = messages.iter().filter_map(|message| match message {
        Message::Assistant(message) => message.content.as_deref(),
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
    let stored = messages(turn);
    for (call, content) in &answered {
        // A call of an answer that was cut was never run, and has its result as a message.
        let result = results.get(call).or_else(|| result_of(&stored, call));
        assert_eq!(result, Some(content), "{call}");
    }
    // Who watched the turn has on the screen what is stored of it, message by message.
    let (shown, stored) = (texts(shown.messages()), texts(&stored));
    assert!(
        shown.ends_with(&stored),
        "{id}: {shown:?} is shown, and {stored:?} stored: {log:#?}"
    );
}
