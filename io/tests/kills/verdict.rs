//! What must hold of the store and of the runs, in the end.

use crate::{common, provider};
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::path::Path;
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
    let question = json!(turn.message)["content"].take();
    let expected = provider::calls(question.as_str().expect("a text"));
    let judged = common::judge(turn, &expected, |call| runs.contains_key(call));
    counts.turns += 1;
    counts.blocks += turn.blocks.len();
    counts.broken_off += usize::from(!judged.is_whole);
    counts.calls += judged.calls.len();
    counts.unknown += judged.failed.len();
    stored.extend(judged.calls);
}
