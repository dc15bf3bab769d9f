//! What must hold of the store, of the tools and of what the clients were told, in the end.

use crate::client::{Clients, Told};
use crate::decision::Decision;
use crate::harm::Harm;
use crate::messages::{Seen, fold, seen};
use crate::model::WHOLE;
use crate::oracle::Oracle;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::time::Duration;
use stepwell_core::conversation::Conversation;
use stepwell_core::event::{AssistantMessage, Message, ReasoningMessage};
use stepwell_core::run::{BlockContent, CUT, Outcome, TurnStatus};
use stepwell_core::session::{MessageBuilder, Turn};
use stepwell_io::store::{Store, TurnKey};

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

/// The runs of the tools: the calls, and what each was given beside its id.
type Runs<'a> = HashMap<&'a str, Vec<Option<&'a str>>>;

pub(crate) async fn of(
    store: &dyn Store,
    clients: &Clients,
    views: &BTreeMap<String, Value>,
    effects: &Path,
) -> String {
    assert_eq!(store.unfinished(None).await, Ok(Vec::new()));
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
    let mut statuses = HashMap::new();
    let told = clients.told();
    for told in &told {
        let key = TurnKey::new(stepwell_io::ThreadKey::from(&*told.thread), told.turn());
        let path = store.path(&key).await.unwrap();
        let (turn, earlier) = path.split_last().unwrap();
        stored.extend(judge_blocks(turn, told, &runs, &mut counts));
        judge_log(&log(store, &key).await, told, &mut counts);
        let screen = screen(turn, earlier);
        let (shown, told_statuses) = fold(&screen, &told.events);
        judge_decisions(turn, told, &told_statuses, &mut counts);
        judge_brought(told, &shown, &told_statuses);
        counts.brought += told.brought.len();
        statuses.extend(told_statuses);
        let messages = MessageBuilder::new().messages(&path).unwrap();
        same("the store", &told.events, &shown, &seen(&json!(messages)));
        if let Some(oracle) = &mut oracle {
            let official = oracle.fold(&json!(screen.messages()), &told.events);
            same(
                "the official client",
                &told.events,
                &shown,
                &seen(&official),
            );
        }
        judge_view(&turn.id, &shown, &statuses, &views[&told.turn()]);
        counts.messages += shown.len();
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
            let (shown, there) = (seen(&run.after), seen(&official));
            same("the official client", &run.events, &shown, &there);
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
        Some(_) => "the official client and the core's",
        None => "the core's",
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

/// How long it took until turns went on, by what was done before.
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

/// What a client has on its screen when the turn begins.
fn screen(turn: &Turn, earlier: &[Turn]) -> Conversation {
    let before = MessageBuilder::new().messages(earlier).unwrap();
    Conversation::new(before.into_iter().chain(turn.message.clone()).collect())
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
    let id = &turn.id;
    assert_eq!(turn.outcome, Some(Outcome::Success), "{id}");
    assert_eq!(turn.status, TurnStatus::Complete, "{id}");
    // Killed in the middle of an answer: what was said stands, marked as cut, and the answer was asked for anew.
    let messages = messages(turn);
    let is_whole = !messages.iter().any(is_cut);
    counts.broken_off += usize::from(!is_whole);
    counts.blocks += turn.blocks.len();
    let mut asked = Vec::new();
    let mut results = HashSet::new();
    for (number, block) in turn.blocks.iter().enumerate() {
        assert_eq!(block.block.sequence, number as u64, "{id}");
        match &block.block.content {
            BlockContent::ToolUse { tool_call_id, .. } => asked.push(tool_call_id.to_string()),
            BlockContent::ToolResult {
                tool_call_id,
                is_error,
                ..
            } => {
                let was_run = runs.contains_key(&**tool_call_id) || is_clients(tool_call_id);
                assert!(
                    was_run || *is_error,
                    "{tool_call_id} has a result and was not run"
                );
                counts.unknown += usize::from(*is_error && !is_denied(tool_call_id));
                assert!(
                    results.insert(tool_call_id.to_string()),
                    "{tool_call_id} has two results"
                );
            }
            _ => {}
        }
    }
    counts.calls += asked.len();
    let expected = told.calls();
    assert!(asked == expected || !is_whole, "{id}: {asked:?}");
    let mut distinct = HashSet::new();
    let is_expected = |call: &String| expected.contains(call) && distinct.insert(call.clone());
    assert!(asked.iter().all(is_expected), "{id}: {asked:?}");
    let asked: HashSet<_> = asked.into_iter().collect();
    assert_eq!(asked, results, "{id}: each call has one result");
    let words: Vec<_> = texts(&messages).collect();
    assert!(
        words.concat() == WHOLE || !is_whole,
        "{id}: each word is stored once: {words:?}"
    );
    // One that was cut is the beginning of a round, and the last is whole.
    assert!(
        words.iter().all(|text| WHOLE.contains(text)),
        "{id}: {words:?}"
    );
    assert!(
        messages.last().is_some_and(|last| !is_cut(last)),
        "{id}: {words:?}"
    );
    asked
}

/// Whether it is of a client's own tool.
fn is_clients(call: &str) -> bool {
    call.ends_with("where")
}

fn is_denied(call: &str) -> bool {
    call.ends_with("ask") && Decision::of(call) == Decision::Denied
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

fn texts(messages: &[Message]) -> impl Iterator<Item = &str> {
    messages.iter().filter_map(|message| match message {
        Message::Assistant(message) => message.content.as_deref(),
        _ => None,
    })
}

fn judge_log(log: &[String], told: &Told, counts: &mut Counts) {
    let id = told.turn();
    counts.events += log.len();
    // What was told stands, and all was told.
    assert_eq!(log, told.events, "{id}");
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
    let mut answered = HashSet::new();
    for event in events {
        if event["type"] == "TOOL_CALL_RESULT" {
            let call = event["toolCallId"].as_str().unwrap().to_owned();
            assert!(answered.insert(call), "{id}: told twice: {event}");
        }
    }
}

/// Who heard these events has on the screen what there is of them elsewhere, message by message.
fn same(who: &str, events: &[String], shown: &[Seen], there: &[Seen]) {
    let at = shown.iter().zip(there);
    let at = at.take_while(|(shown, there)| shown == there).count();
    assert!(
        shown == there,
        "message {at}: {:?} is on the screen, and {who} has {:?}, after {events:#?}",
        shown.get(at),
        there.get(at)
    );
}

/// The thread shows the turn as it was told: each answer with its calls, what came of them, and how each stands.
fn judge_view(turn: &str, shown: &[Seen], statuses: &HashMap<String, String>, view: &Value) {
    let result = |call: &str| {
        let mut results = shown.iter();
        let result = results.find(|message| message.result_of.as_deref() == Some(call));
        result.map(|message| message.text.as_str())
    };
    let answers = view["session"]["messages"].as_array().unwrap().iter();
    let answers = answers.filter(|message| message["role"] == "assistant");
    let is_something = |message: &&Seen| !message.text.is_empty() || !message.calls.is_empty();
    let told = shown.iter().filter(|message| message.role == "assistant");
    let told = told.filter(is_something).map(|message| {
        let calls = message.calls.iter().map(|call| {
            // No arguments are none to a tool; of a call that was cut there is a part.
            let arguments = match call.arguments.as_str() {
                "" => json!({}),
                text => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
            };
            json!([call.id, arguments, result(&call.id), statuses.get(&call.id)])
        });
        json!([message.id, message.text, calls.collect::<Vec<_>>()])
    });
    let answers = answers.map(|message| {
        let calls = message["tool_executions"].as_array().into_iter().flatten();
        let calls = calls.map(|call| {
            json!([
                call["tool_id"],
                call["args"],
                call["result"],
                call["status"]
            ])
        });
        json!([message["id"], message["content"], calls.collect::<Vec<_>>()])
    });
    let (told, answers): (Vec<_>, Vec<_>) = (told.collect(), answers.collect());
    assert_eq!(
        told, answers,
        "{turn}: what was told, and what the thread shows"
    );
}

/// What a client has brought is what its call gave; a call that was not cut off has no other end.
fn judge_brought(told: &Told, shown: &[Seen], statuses: &HashMap<String, String>) {
    for (call, status) in statuses.iter().filter(|(call, _)| is_clients(call)) {
        let result = |message: &&Seen| message.result_of.as_ref() == Some(call);
        let result = shown.iter().find(result);
        let text = result.map(|result| result.text.as_str());
        let is_here = status == "completed" && text == Some("here");
        let is_cut = status == "cancelled" && !told.brought.contains(call);
        assert!(is_here || is_cut, "{call} is {status}, and gave {text:?}");
    }
}

/// What the user said was done.
fn judge_decisions(
    turn: &Turn,
    told: &Told,
    statuses: &HashMap<String, String>,
    counts: &mut Counts,
) {
    let decided = turn
        .blocks
        .iter()
        .filter_map(|block| match &block.block.content {
            BlockContent::Approval { .. } => Some(()),
            _ => None,
        });
    assert!(decided.count() >= told.answered.len(), "{}", turn.id);
    for (call, status) in statuses {
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
