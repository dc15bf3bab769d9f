//! Carries out the world's effects.

use super::{ToolReply, World};
use stepwell_core::run::{Effect, EffectId, HookAnswer, Input, ToolInvocation, TurnStatus};
use stepwell_core::tool::{ToolFailure, ToolFailureKind};

impl World {
    pub(super) fn carry_out(&mut self, id: EffectId, effect: Effect) {
        if let Effect::CloseStream | Effect::CancelTool = effect {
            let deaf = self.ignores_cancel && effect == Effect::CancelTool;
            self.given.remove(&id);
            self.scheduled
                .retain(|_, input| deaf || input.effect() != Some(id));
            return;
        }
        if let Effect::AnswerTool { .. } | Effect::CancelAnswer { .. } = effect {
            return;
        }
        let is_new = self.given.insert(id);
        assert!(is_new, "{id} is given out while the host still has it");
        match effect {
            Effect::OpenStream { .. } => self.serve(id),
            Effect::RunTool { invocation } => self.run_tool(id, &invocation),
            Effect::AskApproval { .. } => {
                if let Some(decision) = self.decisions.pop_front() {
                    self.schedule(
                        50,
                        Input::Decided {
                            effect: id,
                            decision,
                        },
                    );
                }
            }
            Effect::CreateRun { .. } => {
                let of_turn = match id {
                    EffectId::CreateRun { hop: 0 } => {
                        let turn = self.machine.run_id().cloned();
                        self.first_run.take().or(turn)
                    }
                    _ => None,
                };
                let answer = match of_turn.or_else(|| self.runs.pop_front()) {
                    Some(run_id) => Input::RunCreated { effect: id, run_id },
                    None => Input::RunNotCreated {
                        effect: id,
                        message: "no more runs".to_owned(),
                    },
                };
                self.schedule(2, answer);
            }
            Effect::Persist {
                turn,
                status,
                outcome,
                blocks,
                checkpoint,
            } => {
                if self.compares_writes {
                    let stored = &self.store.turn;
                    let enough = stored.check(&self.machine, &blocks, &checkpoint, &self.config);
                    assert_eq!(enough, Ok(()), "the checkpoint of {id} is another run");
                }
                let is_last = status != TurnStatus::Streaming;
                assert_eq!(
                    outcome.as_ref(),
                    self.machine.outcome().filter(|_| is_last),
                    "the last write says how the turn ended"
                );
                let answer = match self.store.write(&turn, status, blocks, checkpoint) {
                    Ok(()) => Input::Persisted { effect: id },
                    Err(message) => Input::PersistFailed {
                        effect: id,
                        message,
                    },
                };
                self.schedule(self.store.takes, answer);
            }
            Effect::TrimContext { overflow } => {
                let answer = match self.trims.pop_front() {
                    Some(trim) => {
                        let (keep, summary) = trim(&overflow);
                        Input::ContextTrimmed {
                            effect: id,
                            keep,
                            summary,
                        }
                    }
                    None => Input::ContextNotTrimmed {
                        effect: id,
                        message: "there is nothing to leave out".to_owned(),
                    },
                };
                self.schedule(2, answer);
            }
            Effect::DecodeOutput { value } => {
                let answer = match self.decodes.pop_front() {
                    Some(decode) => match decode(&value) {
                        Ok(()) => Input::OutputDecoded { effect: id },
                        Err(reason) => Input::OutputRefused { effect: id, reason },
                    },
                    None => return,
                };
                self.schedule(2, answer);
            }
            Effect::Authorize { .. } => {
                let answer = match self.credentials.pop_front() {
                    None => return,
                    Some(Ok(key)) => Input::Authorized {
                        effect: id,
                        authorization: key.into(),
                    },
                    Some(Err(message)) => Input::NotAuthorized {
                        effect: id,
                        message: message.to_owned(),
                    },
                };
                self.schedule(2, answer);
            }
            Effect::ChooseModel { .. } => {
                let answer = match self.models.pop_front() {
                    None => return,
                    Some(Ok(model)) => Input::ModelChosen { effect: id, model },
                    Some(Err(message)) => Input::ModelNotChosen {
                        effect: id,
                        message: message.to_owned(),
                    },
                };
                self.schedule(2, answer);
            }
            Effect::RunHook { subject, .. } => {
                let answer = match self.hooks.pop_front() {
                    None => HookAnswer::GoOn,
                    Some(mut look) => match look(&subject) {
                        Some(answer) => answer,
                        None => return,
                    },
                };
                self.schedule(2, Input::HookAnswered { effect: id, answer });
            }
            Effect::AskUser { .. } => {}
            other => panic!("the world cannot carry out {other:?}"),
        }
    }

    fn run_tool(&mut self, id: EffectId, invocation: &ToolInvocation) {
        let work = match self.tools.get_mut(&invocation.name) {
            Some(code) => code(invocation),
            None => ToolReply {
                result: Some(Err(ToolFailure::new(
                    ToolFailureKind::Error,
                    "the host has no such tool",
                ))),
                takes: 0,
            },
        };
        if let Some(result) = work.result {
            self.schedule(work.takes, Input::ToolFinished { effect: id, result });
        }
    }
}
