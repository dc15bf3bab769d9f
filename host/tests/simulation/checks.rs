//! What must hold when all is over.

use super::client::{Client, View};
use super::findings::Rule;
use super::folder::{Fold, Message};
use super::results;
use super::tools::TOOLS;
use super::world::{INTERRUPT_TIME, Posted, Up, World};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::run::TurnStatus;
use stepwell_io::store::Store;

/// How long a turn may take that waits for nobody, once nothing goes wrong any more.
const LONGEST_WORK: Duration = Duration::from_secs(500);

/// Brings all turns to their end, by users who answer, stop them or stay away, and looks whether the rules hold.
pub(super) async fn judge(world: &Arc<World>, clients: &mut [Client]) {
    let chance = super::chance::Chance::of(world.seed, "the judge");
    let mut judge = Client::new("judge".to_owned(), world, Vec::new());
    let posted = stored(world).await;
    for turn in &posted {
        let begin = tokio::time::Instant::now();
        let mut is_met = false;
        let mut stays_away = false;
        while is_open(world, turn).await {
            let fold = fold_of_log(world, turn).await;
            let is_asked = !fold.questions.is_empty() || !fold.awaited().is_empty();
            if is_asked && !is_met {
                is_met = true;
                match chance.below(3) {
                    0 => judge.cancel(turn).await,
                    1 => stays_away = true,
                    _ => {}
                }
                // What comes of that takes a moment.
                tokio::time::sleep(Duration::from_secs(1)).await;
                continue;
            }
            if is_asked && !stays_away {
                answer(world, turn, &fold).await;
                results::bring_all(world, turn, &fold).await;
            }
            let longest = match stays_away {
                // One question after the other may lapse.
                true => 5 * INTERRUPT_TIME,
                false => LONGEST_WORK,
            };
            if begin.elapsed() > longest {
                let whom = match is_asked {
                    true => format!(
                        "it waits for {:?} and {:?} beyond its time",
                        fold.questions,
                        fold.awaited()
                    ),
                    false => "it neither ends nor waits for anybody".to_owned(),
                };
                world.finds(Rule::Ends, &turn.turn, whom);
                break;
            }
            tokio::time::sleep(Duration::from_secs(20)).await;
        }
    }
    let ups = world.ups();
    if ups.is_empty() {
        world.finds(Rule::Answered, "", "no host is up");
        return;
    }
    for turn in &posted {
        let up = chance.of_slice(&ups).clone();
        judge_turn(world, turn, &up, &mut judge, clients).await;
    }
    judge_tools(world);
}

/// The turns that have begun.
async fn stored(world: &World) -> Vec<Posted> {
    let mut stored = Vec::new();
    for turn in world.posted() {
        let found = Store::turn(&world.kept.memory, &turn.key()).await;
        if found.is_ok_and(|turn| turn.is_some()) {
            stored.push(turn);
        }
    }
    stored
}

async fn is_open(world: &World, turn: &Posted) -> bool {
    let found = Store::turn(&world.kept.memory, &turn.key()).await;
    let found = found.ok().flatten();
    found.is_some_and(|turn| turn.status == TurnStatus::Streaming)
}

async fn fold_of_log(world: &World, turn: &Posted) -> Fold {
    let events = Store::events(&world.kept.memory, &turn.key(), None, usize::MAX >> 1).await;
    let mut fold = Fold::default();
    for event in events.unwrap_or_default() {
        fold.apply(&serde_json::from_str(&event.data).unwrap_or_default());
    }
    fold
}

/// Says yes to whatever is asked, to whichever host takes it.
async fn answer(world: &World, turn: &Posted, fold: &Fold) {
    if fold.questions.is_empty() {
        return;
    }
    let entries = fold
        .questions
        .keys()
        .map(|id| json!({"interruptId": id, "status": "resolved", "payload": {"approved": true}}));
    let body = json!({ "resume": entries.collect::<Vec<_>>() });
    let path = format!("{}/resume", turn.path());
    for up in world.ups() {
        let answer = world.ask(&up, &turn.turn, "POST", &path, Some(&body)).await;
        if answer.is_some_and(|answer| answer.status == 204) {
            return;
        }
    }
}

async fn judge_turn(
    world: &Arc<World>,
    turn: &Posted,
    up: &Up,
    judge: &mut Client,
    clients: &mut [Client],
) {
    if is_open(world, turn).await {
        // It is said elsewhere that it does not end.
        return;
    }
    let lasts = Duration::from_secs(100);
    judge.follow(turn, lasts, Some(up)).await;
    let Some(whole) = judge.views.get(&turn.turn).cloned() else {
        return;
    };
    if !whole.fold.is_over {
        let what = "the turn has ended, and its log does not say so";
        world.finds(Rule::EndIsTold, &turn.turn, what);
        return;
    }
    let mut fold = Fold::default();
    for data in &whole.events {
        let event: Value = serde_json::from_str(data).unwrap_or_default();
        for (rule, what) in fold.apply(&event) {
            world.finds(rule, &turn.turn, what);
        }
    }
    for client in clients {
        if !client.views.contains_key(&turn.turn) {
            continue;
        }
        client.follow(turn, lasts, Some(up)).await;
        if let Some(view) = client.views.get(&turn.turn) {
            same_log(world, turn, &client.name, view, &whole);
        }
    }
    let path = format!("/threads/{}?turn={}", turn.thread, turn.turn);
    let Some(answer) = world.ask(up, &turn.turn, "GET", &path, None).await else {
        return;
    };
    if answer.status != 200 {
        let what = format!("{path}: {}", answer.status);
        world.finds(Rule::AnswerFits, &turn.turn, what);
        return;
    }
    judge_seen(world, turn, &answer.body["turns"]);
    judge_answers(world, turn, &fold);
    results::judge(world, turn, &fold).await;
    same_view(world, turn, &fold, &answer.body["session"]["messages"]);
}

/// On another device the user finds the mark where they have read to.
fn judge_seen(world: &World, turn: &Posted, turns: &Value) {
    let Some(noted) = world.seen(&turn.turn) else {
        return;
    };
    let mut turns = turns.as_array().into_iter().flatten();
    let shown = turns.find(|shown| shown["id"] == json!(turn.turn));
    let given = shown.and_then(|shown| shown["log"]["acknowledged"].as_u64());
    if given < Some(noted) {
        let what = format!("{noted} was noted as seen, and {given:?} comes back");
        world.finds(Rule::SeenComesBack, &turn.turn, what);
    }
}

/// What is told of an answer that was cut stands apart from what is told of the next.
fn judge_answers(world: &World, turn: &Posted, fold: &Fold) {
    let mut messages = fold.messages.iter().peekable();
    while let Some(message) = messages.next() {
        let is_of_turn = message.role == "assistant" && message.text.starts_with(&turn.turn);
        if !is_of_turn {
            continue;
        }
        let answers = answers_in(&message.text);
        if answers.len() > 1 {
            let what = format!("{} is of several answers: `{}`", message.id, message.text);
            world.finds(Rule::AnswersApart, &turn.turn, what);
        }
        let is_followed = messages.peek().is_some_and(|next| next.role == "assistant");
        let was_cut = answers.iter().any(|number| world.is_cut(*number));
        if is_followed && was_cut && !message.is_cut {
            let what = format!(
                "{} was cut, and does not say so: `{}`",
                message.id, message.text
            );
            world.finds(Rule::CutIsMarked, &turn.turn, what);
        }
    }
}

/// The numbers of the answers that a text is of.
fn answers_in(text: &str) -> BTreeSet<u64> {
    let pieces = text.split(" of ").skip(1);
    let numbers = pieces.filter_map(|piece| piece.split(';').next()?.parse().ok());
    numbers.collect()
}

fn same_log(world: &World, turn: &Posted, name: &str, view: &View, whole: &View) {
    if view.events != whole.events {
        let mut both = view.events.iter().zip(&whole.events);
        let differs = both.position(|(one, other)| one != other);
        let what = format!(
            "{name} has {} events, the log {}; they differ at {differs:?}",
            view.events.len(),
            whole.events.len()
        );
        world.finds(Rule::LogStays, &turn.turn, what);
    } else if view.fold != whole.fold {
        let what = format!("{name} has folded it otherwise");
        world.finds(Rule::LogStays, &turn.turn, what);
    }
}

/// A message as it is shown: its text, each call with its arguments and its result, and whether it was cut.
type Shown = (String, String, Vec<(String, Value, Option<String>)>, bool);

fn same_view(world: &World, turn: &Posted, fold: &Fold, messages: &Value) {
    let messages: Vec<&Value> = messages.as_array().into_iter().flatten().collect();
    let elsewhere: BTreeSet<&str> = messages
        .iter()
        .filter(|message| message["turn"] != json!(turn.turn))
        .filter_map(|message| message["id"].as_str())
        .collect();
    let told = fold
        .messages
        .iter()
        .filter(|message| message.role == "assistant" && !elsewhere.contains(message.id.as_str()));
    let told: Vec<Shown> = told.map(|message| told_message(message, fold)).collect();
    let shown = messages
        .iter()
        .filter(|message| message["turn"] == json!(turn.turn) && message["role"] == "assistant");
    let mut shown: Vec<Shown> = shown.map(|message| shown_message(message)).collect();
    for call in untold(&told, &mut shown) {
        let what = format!("`{call}` has a result, and it is not told");
        world.finds(Rule::ResultIsTold, &turn.turn, what);
    }
    for (call, told, stored) in edits(&told, &mut shown) {
        let what = format!("`{call}` gave `{told}` as told, and `{stored}` as stored");
        world.finds(Rule::ResultIsSame, &turn.turn, what);
    }
    let is_something = |message: &&Shown| !message.1.is_empty() || !message.2.is_empty();
    let told: Vec<_> = told.iter().filter(is_something).collect();
    let shown: Vec<_> = shown.iter().filter(is_something).collect();
    if told != shown {
        let at = told
            .iter()
            .zip(&shown)
            .take_while(|(told, shown)| told == shown);
        let at = at.count();
        let what = format!("told: {:?}, shown: {:?}", told.get(at), shown.get(at));
        world.finds(Rule::FoldIsView, &turn.turn, what);
        return;
    }
    for message in &messages {
        for call in message["tool_executions"].as_array().into_iter().flatten() {
            let id = call["tool_id"].as_str().unwrap_or_default();
            let told = fold.statuses.get(id).map(String::as_str);
            if message["turn"] == json!(turn.turn) && told != call["status"].as_str() {
                let what = format!(
                    "`{id}` is told as {told:?}, and shown as {}",
                    call["status"]
                );
                world.finds(Rule::StatusIsView, &turn.turn, what);
            }
        }
    }
}

/// The calls whose results are shown and were never told. They are said to be so, and are then taken as told.
fn untold(told: &[Shown], shown: &mut [Shown]) -> Vec<String> {
    let told = told.iter().flat_map(|message| &message.2);
    let without: BTreeSet<_> = told
        .filter(|(_, _, result)| result.is_none())
        .map(|(call, _, _)| call.clone())
        .collect();
    let mut untold = Vec::new();
    for (call, _, result) in shown.iter_mut().flat_map(|message| message.2.iter_mut()) {
        if result.is_some() && without.contains(call) {
            *result = None;
            untold.push(call.clone());
        }
    }
    untold
}

/// The results that are stored with words before them of how the user edited the call, and told without. They are said
/// to be so, and are then taken as told.
fn edits(told: &[Shown], shown: &mut [Shown]) -> Vec<(String, String, String)> {
    let mut edits = Vec::new();
    let told: BTreeMap<_, _> = told
        .iter()
        .flat_map(|message| &message.2)
        .filter_map(|(call, _, result)| Some((call, result.as_ref()?)))
        .collect();
    for (call, _, result) in shown.iter_mut().flat_map(|message| message.2.iter_mut()) {
        if let (Some(told), Some(stored)) = (told.get(call), result.as_mut())
            && stored != *told
            && stored.starts_with("The user changed the arguments")
            && stored.ends_with(told.as_str())
        {
            edits.push((call.clone(), (*told).clone(), stored.clone()));
            stored.clone_from(told);
        }
    }
    edits
}

fn told_message(message: &Message, fold: &Fold) -> Shown {
    let calls = message.calls.iter().map(|call| {
        // No arguments are none to a tool.
        let arguments = match call.arguments.as_str() {
            "" => json!({}),
            text => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        };
        let result = fold.result(&call.id).map(|result| result.text.clone());
        (call.id.clone(), arguments, result)
    });
    (
        message.id.clone(),
        message.text.clone(),
        calls.collect(),
        message.is_cut,
    )
}

fn shown_message(message: &Value) -> Shown {
    let word = |value: &Value| value.as_str().map(str::to_owned);
    let calls = message["tool_executions"].as_array().into_iter().flatten();
    let calls = calls.map(|call| {
        let id = word(&call["tool_id"]).unwrap_or_default();
        (id, call["args"].clone(), word(&call["result"]))
    });
    (
        word(&message["id"]).unwrap_or_default(),
        word(&message["content"]).unwrap_or_default(),
        calls.collect(),
        message["cut"] == true,
    )
}

/// No tool that is not idempotent began twice, whoever ran it.
fn judge_tools(world: &World) {
    let mut begun: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for one in world.begun() {
        let is_idempotent = TOOLS.contains(&(one.tool.as_str(), true));
        if !is_idempotent {
            // A later answer to the same question names its calls otherwise: the step is the same.
            let step = one
                .call
                .rsplit_once('_')
                .map_or(&*one.call, |(step, _)| step);
            begun.entry(step.to_owned()).or_default().push(one.life);
        }
    }
    for (step, lives) in begun {
        if lives.len() > 1 {
            let turn = step.split('_').next().unwrap_or_default();
            let what = format!("{step} began {} times: {lives:?}", lives.len());
            world.finds(Rule::BeginsOnce, turn, what);
        }
    }
}
