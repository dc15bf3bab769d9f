//! Clients bring what their tools gave: in time, late, twice, after a restart, at any host, and for calls that wait for
//! nothing.

use super::client::Client;
use super::clients::TOOL;
use super::clients::findings::Rule;
use super::clients::fold::{Fold, is_final};
use super::world::{Posted, Which, World};
use serde_json::json;
use std::collections::BTreeSet;
use stepwell_core::run::BlockContent;
use stepwell_core::session::Turn;
use stepwell_io::store::TurnStore;

impl Client {
    /// Brings a result, or something that is none.
    pub(super) async fn brings(&self, turn: &Posted) {
        let Some(view) = self.views.get(&turn.turn) else {
            return;
        };
        let awaited = view.fold.awaited();
        if awaited.is_empty() {
            return;
        }
        let chance = &self.results;
        let call = chance.of_slice(&awaited).clone();
        let text = format!("result {} of {call}", chance.below(1_000_000));
        let body = match chance.below(5) {
            0 => json!({ "error": text }),
            _ => json!({ "content": text }),
        };
        // The others are calls that have a result, and those that the host runs itself.
        let is_own = |call: &str| call.contains(&format!("_{TOOL}_"));
        let is_other =
            |(call, status): &(&String, &String)| is_final(status) || !is_own(call.as_str());
        let (others, own): (Vec<_>, Vec<_>) = view.fold.statuses.iter().partition(is_other);
        // The client does not know yet that these calls wait: they may do so all the same by now.
        let is_early = |(_, status): &(&String, &String)| *status != "deferred";
        let early: Vec<_> = own.into_iter().filter(is_early).collect();
        let (call, body, allowed): (_, _, &[u16]) = match chance.below(12) {
            0 => ("none".to_owned(), body, &[404, 409]),
            1 => (call, json!({"content": "a", "error": "b"}), &[422, 404]),
            2..=3 if !others.is_empty() => (chance.of_slice(&others).0.clone(), body, &[404, 409]),
            4 if !early.is_empty() => (chance.of_slice(&early).0.clone(), body, &[204, 404, 409]),
            _ => (call, body, &[204, 404, 409]),
        };
        let mut times = 1 + u64::from(chance.one_in(4));
        let action = format!("calls/{call}/result");
        while times > 0 {
            times -= 1;
            let Some((_, answer)) = self.command(turn, &action, &body).await else {
                continue;
            };
            self.fits(&turn.turn, "a result is brought", &answer, allowed);
            if answer.status == 204 {
                self.world.takes_result(turn, &call, &text);
            }
        }
    }
}

/// Brings all results that the turn waits for, to whichever host takes them.
pub(super) async fn bring_all(world: &World, turn: &Posted, fold: &Fold) {
    for call in fold.awaited() {
        let text = format!("the last result of {call}");
        let path = format!("{}/calls/{call}/result", turn.path());
        for up in world.ups() {
            let body = json!({ "content": text });
            let answer = world.ask(&up, &turn.turn, "POST", &path, Some(&body)).await;
            if answer.is_some_and(|answer| answer.status == 204) {
                world.takes_result(turn, &call, &text);
                break;
            }
        }
    }
}

/// Checks that an accepted result is in the log, and that its call had begun to wait for it.
pub(super) async fn judge(world: &World, turn: &Posted, fold: &Fold) {
    let stored = TurnStore::turn(&world.kept.memory, &turn.key()).await;
    let stored = stored.ok().flatten();
    for (call, mut taken) in world.results_of(turn) {
        if world.engine != Which::Local {
            // The same is taken for what came before, whose answer was lost.
            taken.dedup();
        }
        if taken.len() > 1 {
            let what = format!("`{call}` has taken {} results", taken.len());
            world.finds(Rule::ResultIsTaken, &turn.turn, what);
        }
        let told = fold.result(&call).map(|told| told.text.as_str());
        if told != taken.first().map(String::as_str) {
            let what = format!("`{call}` has taken {taken:?}, and gives {told:?}");
            world.finds(Rule::ResultIsTaken, &turn.turn, what);
        }
        if !stored.as_ref().is_some_and(|turn| has_waited(turn, &call)) {
            let what = format!("`{call}` has taken a result that it did not wait for");
            world.finds(Rule::ResultIsTaken, &turn.turn, what);
        }
    }
}

/// Returns whether the call was left to the client before it had its result.
fn has_waited(turn: &Turn, id: &str) -> bool {
    let mut left = BTreeSet::new();
    turn.blocks
        .iter()
        .any(|stored| match &stored.block.content {
            BlockContent::Deferred { call, .. } => {
                left.insert(*call);
                false
            }
            BlockContent::ToolResult {
                call, tool_call_id, ..
            } => tool_call_id.as_str() == id && left.contains(call),
            _ => false,
        })
}
