//! What must hold of the store and of the runs, in the end.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use stepwell_core::run::{BlockContent, CUT, Outcome, TurnStatus};
use stepwell_core::session::Turn;
use stepwell_io::store::{Store, ThreadQuery};

#[derive(Default)]
struct Counts {
    turns: usize,
    blocks: usize,
    calls: usize,
    unknown: usize,
    broken_off: usize,
}

pub(crate) async fn of(store: &dyn Store, effects: &Path) -> String {
    assert_eq!(store.unfinished(None).await, Ok(Vec::new()));
    let effects = std::fs::read_to_string(effects).unwrap();
    let mut runs: HashMap<&str, u32> = HashMap::new();
    for call in effects.lines() {
        *runs.entry(call).or_default() += 1;
    }
    let mut counts = Counts::default();
    let mut stored = HashSet::new();
    let mut query = ThreadQuery::default();
    loop {
        let page = store.threads(&query).await.unwrap();
        let Some(last) = page.last() else { break };
        query.after = Some(last.cursor());
        for thread in &page {
            for turn in store.turns(&thread.key).await.unwrap() {
                judge(&turn, &runs, &mut counts, &mut stored);
            }
        }
    }
    for (call, times) in &runs {
        assert!(stored.contains(*call), "{call} was run, and is not stored");
        let is_idempotent = call.ends_with("look");
        assert!(*times == 1 || is_idempotent, "{call} was run {times} times");
    }
    let Counts {
        turns,
        blocks,
        calls,
        unknown,
        broken_off,
    } = counts;
    let again = runs.values().filter(|times| **times > 1).count();
    format!(
        "{turns} turns ended ({broken_off} broke off in an answer), {blocks} blocks, {calls} calls: {} runs, {unknown} calls of unknown outcome, {again} \
         idempotent calls run again",
        effects.lines().count()
    )
}

fn judge(
    turn: &Turn,
    runs: &HashMap<&str, u32>,
    counts: &mut Counts,
    stored: &mut HashSet<String>,
) {
    let id = &turn.id;
    assert_eq!(turn.outcome, Some(Outcome::Success), "{id}");
    assert_eq!(turn.status, TurnStatus::Complete, "{id}");
    // Killed when a part of an answer was stored: what was said stands, marked as cut, and the answer was asked for anew.
    let is_whole = !turn.blocks.iter().any(|block| is_cut(&block.block.content));
    counts.broken_off += usize::from(!is_whole);
    counts.turns += 1;
    counts.blocks += turn.blocks.len();
    let mut asked = Vec::new();
    let mut answered = Vec::new();
    let mut texts = Vec::new();
    for (number, block) in turn.blocks.iter().enumerate() {
        assert_eq!(block.block.sequence, number as u64, "{id}");
        match &block.block.content {
            BlockContent::ToolUse { tool_call_id, .. } => asked.push(tool_call_id.to_string()),
            BlockContent::ToolResult {
                tool_call_id,
                is_error,
                ..
            } => {
                let run = runs.get(&**tool_call_id).copied().unwrap_or(0);
                // What is done was run; what was not run is not done.
                assert!(
                    run > 0 || *is_error,
                    "{tool_call_id} has a result and was not run"
                );
                counts.unknown += usize::from(*is_error);
                answered.push(tool_call_id.to_string());
            }
            BlockContent::Text { text, .. } => texts.push(text.as_str()),
            _ => {}
        }
    }
    counts.calls += asked.len();
    let is_distinct = asked.iter().collect::<HashSet<_>>().len() == asked.len();
    assert!(is_distinct, "{id}: each call is stored once: {asked:?}");
    assert!(asked.len() == 6 || !is_whole, "{id}: {asked:?}");
    asked.sort_unstable();
    answered.sort_unstable();
    assert_eq!(asked, answered, "{id}: each call has one result");
    let words = texts.concat();
    let whole = "Round 0 of the answer.Round 1 of the answer.Round 2 of the answer.";
    let is_said = if is_whole {
        words == whole
    } else {
        texts.iter().all(|text| whole.contains(text))
    };
    assert!(is_said, "{id}: each word is stored once: {words}");
    stored.extend(asked);
}

fn is_cut(content: &BlockContent) -> bool {
    let (BlockContent::Text { attached, .. } | BlockContent::Reasoning { attached, .. }) = content
    else {
        return false;
    };
    let metadata = attached.metadata.as_ref();
    metadata.is_some_and(|metadata| metadata.get(CUT) == Some(&true.into()))
}
