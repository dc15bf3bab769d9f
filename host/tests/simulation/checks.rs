//! What must hold when all is over.

use super::client::Client;
use super::clients::chance::Chance;
use super::clients::findings::Rule;
use super::clients::fold::Fold;
use super::clients::view::{View, same_view};
use super::results;
use super::tools::TOOLS;
use super::world::{INTERRUPT_TIME, Posted, Up, World};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::run::TurnStatus;
use stepwell_io::store::{EventStore, TurnStore};

/// The time that a turn may take that waits for no user or client, once there are no more faults.
const LONGEST_WORK: Duration = Duration::from_secs(500);

/// Brings all turns to their end, by users who answer, stop them or stay away, and checks the rules.
pub(super) async fn judge(world: &Arc<World>, clients: &mut [Client]) {
    let chance = Chance::of(world.seed, "the judge");
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
                // The effects of that take a moment.
                tokio::time::sleep(Duration::from_secs(1)).await;
                continue;
            }
            if is_asked && !stays_away {
                answer(world, turn, &fold).await;
                results::bring_all(world, turn, &fold).await;
            }
            let longest = match stays_away {
                // One question after the other may expire.
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
        let found = TurnStore::turn(&world.kept.memory, &turn.key()).await;
        if found.is_ok_and(|turn| turn.is_some()) {
            stored.push(turn);
        }
    }
    stored
}

async fn is_open(world: &World, turn: &Posted) -> bool {
    let found = TurnStore::turn(&world.kept.memory, &turn.key()).await;
    let found = found.ok().flatten();
    found.is_some_and(|turn| turn.status == TurnStatus::Streaming)
}

async fn fold_of_log(world: &World, turn: &Posted) -> Fold {
    let events = EventStore::events(&world.kept.memory, &turn.key(), None, usize::MAX >> 1).await;
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
        // Another check reports that the turn does not end.
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
    for (rule, what) in same_view(&turn.turn, &fold, &answer.body["session"]["messages"]) {
        world.finds(rule, &turn.turn, what);
    }
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

/// Checks that an answer that was cut is separate from the next one.
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

/// Checks that no tool that is not idempotent began twice, on any host.
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
