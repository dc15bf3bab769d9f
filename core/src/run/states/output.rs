//! The host's next output, whatever the state.

use super::edges::EDGES;
use crate::run::hop;
use crate::run::parts::{Entry, delta_event};
use crate::run::protocol::ticket::Ticket;
use crate::run::protocol::{Effect, EffectId, HookPlace, Output, RunEvent};
use crate::run::turn::Turn;

/// The next output. `persist` makes the write under way, which has the state in it.
pub(super) fn next(turn: &mut Turn, persist: &dyn Fn(&Turn) -> Effect) -> Option<Output<Ticket>> {
    loop {
        match turn.next_entry()? {
            Entry::Event(event) => return Some(Output::Event(*event)),
            Entry::Delta { item, from, to } => {
                if let Some(event) = delta_event(turn.transcript(), item, from, to) {
                    return Some(Output::Event(RunEvent::AgUi(event)));
                }
            }
            Entry::Stop(id) => return Some(Output::Effect(Ticket::NoAnswer(id), id.stop())),
            Entry::CancelAnswer(answer) => {
                if let Some(request) = turn.cancel_request(&answer) {
                    let hop = answer.hop;
                    let ticket = Ticket::NoAnswer(EffectId::Open { hop, attempt: 0 });
                    return Some(Output::Effect(ticket, Effect::CancelAnswer { request }));
                }
            }
            Entry::Moved(edge) => {
                if let Some(edge) = EDGES.get(edge) {
                    return Some(Output::Moved(*edge));
                }
            }
            Entry::Effect(id) => {
                if let Some(effect) = effect(turn, id, persist) {
                    let ticket = match effect {
                        Effect::AnswerTool { .. } => Ticket::NoAnswer(id),
                        _ => Ticket::of(id),
                    };
                    return Some(Output::Effect(ticket, effect));
                }
                debug_assert!(false, "the effect {id} has nothing to do");
            }
        }
    }
}

// This function is kept apart from the path that each chunk of an answer takes.
#[inline(never)]
fn effect(turn: &Turn, id: EffectId, persist: &dyn Fn(&Turn) -> Effect) -> Option<Effect> {
    Some(match id {
        EffectId::CreateRun { .. } => Effect::CreateRun {
            thread_id: turn.ids().thread_id.clone(),
            parent_run_id: turn.parent_run_id().cloned(),
        },
        EffectId::Open { .. } => Effect::OpenStream {
            request: hop::request(turn),
        },
        EffectId::Approve(call) => Effect::AskApproval {
            invocation: Box::new(turn.invocation(call)?),
        },
        EffectId::Tool(call) => Effect::RunTool {
            invocation: Box::new(turn.invocation(call)?),
        },
        EffectId::Authorize { attempt, .. } => Effect::Authorize {
            rejected: turn.is_after_rejection(attempt),
        },
        EffectId::Ask { call, number } => turn.question_effect(call, number)?,
        EffectId::Trim { .. } => Effect::TrimContext {
            overflow: hop::overflow(turn),
        },
        EffectId::ChooseModel { .. } => Effect::ChooseModel {
            context: turn.hop_context(),
        },
        EffectId::Output { .. } => Effect::DecodeOutput {
            value: turn.output_to_decode()?.clone(),
        },
        EffectId::Hook { place, hook } => Effect::RunHook {
            hook: turn.hook_name(hook).to_owned(),
            subject: Box::new(match place {
                HookPlace::Request { .. } => hop::request_subject(turn),
                place => turn.hook_subject(place)?,
            }),
        },
        EffectId::Persist { .. } => persist(turn),
    })
}
