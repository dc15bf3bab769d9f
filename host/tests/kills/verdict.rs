//! The final checks of the store, of the tools and of what the clients received.

use crate::client::{Clients, Told};
use crate::clients::fold::{self, Fold};
use crate::clients::view;
use crate::common;
use crate::decision::Decision;
use crate::harm::Harm;
use crate::oracle::Oracle;
use crate::said;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::time::Duration;
use stepwell_core::run::{BlockContent, Outcome};
use stepwell_core::session::{MessageBuilder, Turn};
use stepwell_io::store::{RESTING, Store, TurnKey};

#[derive(Default)]
struct Counts {
    broken_off: usize,
    blocks: usize,
    events: usize,
    messages: usize,
    calls: usize,
    unknown: usize,
    restarts: usize,
    acknowledged: usize,
    granted: usize,
    denied: usize,
    edited: usize,
    brought: usize,
}

/// The runs of the tools, by their calls: the note of each run, if it has one.
type Runs<'a> = HashMap<&'a str, Vec<Option<&'a str>>>;

pub(crate) async fn of(
    store: &dyn Store,
    clients: &Clients,
    views: &BTreeMap<String, Value>,
    effects: &Path,
    hosts_log: &Path,
) -> String {
    let unfinished = store.unfinished(None).await.unwrap().into_iter();
    // A turn whose question to a client of `/agent` was not answered before the end still waits.
    let unfinished = unfinished.filter(|turn| turn.owner != RESTING);
    assert_eq!(unfinished.collect::<Vec<_>>(), []);
    let effects = std::fs::read_to_string(effects).unwrap();
    let mut runs = Runs::new();
    for line in effects.lines() {
        let (call, note) = match line.split_once(' ') {
            Some((call, note)) => (call, Some(note)),
            None => (line, None),
        };
        runs.entry(call).or_default().push(note);
    }
    let mut oracle = Oracle::start();
    let mut counts = Counts::default();
    let mut stored = HashSet::new();
    let told = clients.told();
    for told in &told {
        let key = TurnKey::new(stepwell_io::ThreadKey::from(&*told.thread), told.turn());
        let path = store.path(&key).await.unwrap();
        let (turn, earlier) = path.split_last().unwrap();
        if turn.outcome != Some(Outcome::Success) {
            said::print_of(&turn.id, hosts_log);
        }
        stored.extend(judge_blocks(turn, told, &runs, &mut counts));
        judge_log(&log(store, &key).await, told, &mut counts);
        let screen = screen(turn, earlier);
        let events = &told.view.events;
        let shown = folded(&screen, events);
        judge_decisions(turn, told, &shown, &mut counts);
        judge_brought(told, &shown);
        counts.brought += told.brought.len();
        let messages = MessageBuilder::new().messages(&path).unwrap();
        same("the store", events, &shown, &json!(messages));
        if let Some(oracle) = &mut oracle {
            let official = oracle.fold(&screen, events);
            same("the official client", events, &shown, &official);
        }
        let messages = &views[&told.turn()]["session"]["messages"];
        let broken = view::same_view(&turn.id, &shown, messages);
        assert!(broken.is_empty(), "{}: {broken:?}", turn.id);
        counts.messages += shown.messages.len();
        let noted = store.event_log(&key).await.unwrap();
        assert!(
            noted.acknowledged >= told.acknowledged && noted.acknowledged < Some(noted.next),
            "{}: {noted:?}, and the client has {:?}",
            turn.id,
            told.acknowledged
        );
        counts.acknowledged += usize::from(told.acknowledged.is_some());
    }
    let answered = clients.answered();
    for answered in &answered {
        answered.judge();
        for run in &answered.runs {
            let Some(oracle) = &mut oracle else { break };
            let official = oracle.fold(&run.before, &run.events);
            same("the official client", &run.events, &run.after, &official);
        }
    }
    for (call, notes) in &runs {
        let is_stored = stored.contains(*call) || call.starts_with("run-");
        assert!(is_stored, "{call} was run, and is not stored");
        let is_idempotent = call.ends_with("look");
        let times = notes.len();
        assert!(times == 1 || is_idempotent, "{call} was run {times} times");
        let expected = match Decision::of(call) {
            Decision::Edited if call.ends_with("ask") => Some("edited"),
            _ => None,
        };
        assert!(
            notes.iter().all(|note| *note == expected),
            "{call}: {notes:?}"
        );
    }
    let again = runs.values().filter(|notes| notes.len() > 1).count();
    let folded = match oracle {
        Some(_) => "the official client and ours",
        None => "ours",
    };
    let Counts {
        broken_off,
        blocks,
        events,
        messages,
        calls,
        unknown,
        restarts,
        acknowledged,
        granted,
        denied,
        edited,
        brought,
    } = counts;
    format!(
        "{} turns ended ({broken_off} broke off in an answer, {restarts} went on elsewhere or again), {blocks} blocks, {events} \
         events, {messages} messages as folded by {folded}, {acknowledged} turns acknowledged in part, {calls} calls: {} \
         runs, {granted} granted, {denied} denied, {edited} edited, {brought} brought by \
         clients, {unknown} of unknown outcome, {again} idempotent calls \
         run again; {} questions answered in {} runs at /agent; {}",
        told.len(),
        effects.lines().count(),
        answered.len(),
        answered
            .iter()
            .map(|answered| answered.runs.len())
            .sum::<usize>(),
        times(clients.go_on()),
    )
}

/// Describes how long it took until turns continued, by the harm before.
fn times(times: BTreeMap<Harm, Vec<Duration>>) -> String {
    let times = times.into_iter().map(|(harm, mut times)| {
        times.sort_unstable();
        let [least, middle, most] =
            [0, times.len() / 2, times.len() - 1].map(|at| times[at].as_secs_f64());
        format!(
            "turns went on {} times, {middle:.2} s after {harm} (from {least:.2} to {most:.2})",
            times.len()
        )
    });
    let times: Vec<_> = times.collect();
    times.join("; ")
}

/// Returns what a client has on its screen when the turn begins.
fn screen(turn: &Turn, earlier: &[Turn]) -> Value {
    let mut messages = MessageBuilder::new().messages(earlier).unwrap();
    messages.extend(turn.message.clone());
    json!(messages)
}

/// Returns the state that a client builds from a log.
fn folded(screen: &Value, events: &[String]) -> Fold {
    let mut fold = Fold::on_screen(screen);
    for data in events {
        let broken = fold.apply(&serde_json::from_str(data).unwrap());
        assert!(broken.is_empty(), "{broken:?}: {data}, of {events:#?}");
    }
    fold
}

/// All events of a turn.
async fn log(store: &dyn Store, key: &TurnKey) -> Vec<String> {
    let events = store.events(key, None, usize::MAX >> 1).await.unwrap();
    for (index, event) in events.iter().enumerate() {
        assert_eq!(event.index, index as u64, "{key}");
    }
    events.into_iter().map(|event| event.data).collect()
}

/// The turn's calls.
fn judge_blocks(turn: &Turn, told: &Told, runs: &Runs<'_>, counts: &mut Counts) -> HashSet<String> {
    let was_run = |call: &str| runs.contains_key(call) || is_clients(call);
    let judged = common::judge(turn, &told.calls(), was_run);
    counts.broken_off += usize::from(!judged.is_whole);
    counts.blocks += turn.blocks.len();
    counts.calls += judged.calls.len();
    let unknown = judged.failed.iter().filter(|call| !is_denied(call));
    counts.unknown += unknown.count();
    judged.calls
}

/// Returns whether the call is of a client's own tool.
fn is_clients(call: &str) -> bool {
    call.ends_with("where")
}

fn is_denied(call: &str) -> bool {
    call.ends_with("ask") && Decision::of(call) == Decision::Denied
}

fn judge_log(log: &[String], told: &Told, counts: &mut Counts) {
    let id = told.turn();
    counts.events += log.len();
    // The log has exactly what was sent.
    assert_eq!(log, told.view.events, "{id}");
    let events = log.iter().map(|data| serde_json::from_str(data).unwrap());
    let events: Vec<Value> = events.collect();
    let kinds: Vec<_> = events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    let is_end = |kind: &&&str| ["RUN_FINISHED", "RUN_ERROR"].contains(*kind);
    assert_eq!(kinds.iter().filter(is_end).count(), 1, "{id}: {kinds:?}");
    assert!(kinds.last().as_ref().is_some_and(is_end), "{id}: {kinds:?}");
    counts.restarts += usize::from(kinds.contains(&"MESSAGES_SNAPSHOT"));
}

/// Checks that a client which received these events has the same messages on its screen as another source, one by one.
fn same(who: &str, events: &[String], shown: &Fold, there: &Value) {
    let shown = fold::in_order(shown.messages.clone());
    let there = fold::in_order(fold::messages(there));
    let at = shown.iter().zip(&there);
    let at = at.take_while(|(shown, there)| shown == there).count();
    assert!(
        shown == there,
        "message {at}: {:?} is on the screen, and {who} has {:?}, after {events:#?}",
        shown.get(at),
        there.get(at)
    );
}

/// Checks that a result which a client brought is its call's result; only a call that was cut off ends otherwise.
fn judge_brought(told: &Told, shown: &Fold) {
    let statuses = shown.statuses.iter();
    for (call, status) in statuses.filter(|(call, _)| is_clients(call)) {
        let result = shown.result(call);
        let text = result.map(|result| result.text.as_str());
        let is_here = status == "completed" && text == Some("here");
        let is_cut = status == "cancelled" && !told.brought.contains(call);
        assert!(is_here || is_cut, "{call} is {status}, and gave {text:?}");
    }
}

/// Checks that the user's decisions were carried out.
fn judge_decisions(turn: &Turn, told: &Told, shown: &Fold, counts: &mut Counts) {
    let decided = turn
        .blocks
        .iter()
        .filter_map(|block| match &block.block.content {
            BlockContent::Approval { .. } => Some(()),
            _ => None,
        });
    assert!(decided.count() >= told.answered.len(), "{}", turn.id);
    for (call, status) in &shown.statuses {
        if !call.ends_with("ask") || status == "cancelled" {
            continue;
        }
        let decision = Decision::of(call);
        let (count, is_done) = match decision {
            Decision::Granted => (&mut counts.granted, status != "denied"),
            Decision::Denied => (&mut counts.denied, status == "denied"),
            Decision::Edited => (&mut counts.edited, status != "denied"),
        };
        *count += 1;
        assert!(is_done, "{call} is {status}: {decision:?}");
    }
}
