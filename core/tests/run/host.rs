//! How the world carries out what the run asks for.

use crate::wire::body;
use crate::world::{Answer, Cut, Then, Work, World};
use std::borrow::Cow;
use stepwell_core::run::{Effect, EffectId, HookAnswer, Input, ToolInvocation, TurnStatus};
use stepwell_core::tool::{ToolFailure, ToolFailureKind};

impl World {
    pub fn carry_out(&mut self, id: EffectId, effect: Effect) {
        if let Effect::CloseStream | Effect::CancelTool = effect {
            let deaf = self.deaf_tools && effect == Effect::CancelTool;
            self.hands.remove(&id);
            self.agenda
                .retain(|_, input| deaf || input.effect() != Some(id));
            return;
        }
        if let Effect::AnswerTool { .. } = effect {
            return;
        }
        let is_new = self.hands.insert(id);
        assert!(is_new, "{id} is given out while the host still has it");
        match effect {
            Effect::OpenStream { .. } => self.serve(id),
            Effect::RunTool { invocation } => self.run_tool(id, &invocation),
            Effect::AskApproval { .. } => {
                if let Some(decision) = self.decisions.pop_front() {
                    self.enter(
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
                self.enter(2, answer);
            }
            Effect::Persist {
                turn,
                status,
                outcome,
                blocks,
                snapshot,
            } => {
                let is_last = status != TurnStatus::Streaming;
                assert_eq!(
                    outcome.as_ref(),
                    self.machine.outcome().filter(|_| is_last),
                    "the last write says how the turn ended"
                );
                let answer = match self.store.write(&turn, status, blocks, snapshot) {
                    Ok(()) => Input::Persisted { effect: id },
                    Err(message) => Input::PersistFailed {
                        effect: id,
                        message,
                    },
                };
                self.enter(self.store.takes, answer);
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
                self.enter(2, answer);
            }
            Effect::DecodeOutput { value } => {
                let answer = match self.decodes.pop_front() {
                    Some(decode) => match decode(&value) {
                        Ok(()) => Input::OutputDecoded { effect: id },
                        Err(reason) => Input::OutputRefused { effect: id, reason },
                    },
                    None => return,
                };
                self.enter(2, answer);
            }
            Effect::Authorize { .. } => {
                let answer = match self.keys.pop_front() {
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
                self.enter(2, answer);
            }
            Effect::RunHook { subject, .. } => {
                let answer = match self.hooks.pop_front() {
                    None => HookAnswer::GoOn,
                    Some(mut look) => match look(&subject) {
                        Some(answer) => answer,
                        None => return,
                    },
                };
                self.enter(2, Input::HookAnswered { effect: id, answer });
            }
            Effect::AskUser { .. } => {}
            other => panic!("the world does not know {other:?}"),
        }
    }

    fn run_tool(&mut self, id: EffectId, invocation: &ToolInvocation) {
        let work = match self.tools.get_mut(&invocation.name) {
            Some(code) => code(invocation),
            None => Work {
                result: Some(Err(ToolFailure::new(
                    ToolFailureKind::Error,
                    "the host has no such tool",
                ))),
                takes: 0,
            },
        };
        if let Some(result) = work.result {
            self.enter(work.takes, Input::ToolFinished { effect: id, result });
        }
    }

    fn serve(&mut self, effect: EffectId) {
        let EffectId::Open { hop, .. } = effect else {
            panic!("{effect} opens no stream")
        };
        let answer = self.provider.pop_front().or_else(|| self.otherwise.clone());
        let answer = answer.unwrap_or_else(|| panic!("no answer is scripted for {effect}"));
        let dialect = self.config.endpoint.dialect;
        let hop = hop as usize;
        let sse = Some("text/event-stream; charset=utf-8");
        let lost = Input::Lost {
            effect,
            message: "connection reset".to_owned(),
        };
        match answer {
            Answer::Says(says) => self.stream(
                effect,
                sse,
                &body(dialect, hop, &says),
                Some(Input::Ended { effect }),
            ),
            Answer::Breaks(says) => {
                self.stream(effect, sse, &body(dialect, hop, &says), Some(lost));
            }
            Answer::Stream(bytes, then) => {
                let end = match then {
                    Then::Ends => Some(Input::Ended { effect }),
                    Then::Breaks => Some(lost),
                    Then::Stalls => None,
                };
                self.stream(effect, sse, &bytes, end);
            }
            Answer::Stalls(says) => self.stream(effect, sse, &body(dialect, hop, &says), None),
            Answer::Body(media_type, body) => {
                self.stream(effect, media_type, &body, Some(Input::Ended { effect }));
            }
            Answer::Refuses(refusal) => self.enter(10, Input::Refused { effect, refusal }),
            Answer::Unreachable => {
                self.enter(
                    10,
                    Input::ConnectionFailed {
                        effect,
                        message: "connection refused".to_owned(),
                    },
                );
            }
            Answer::Never => {}
        }
    }

    fn stream(
        &mut self,
        effect: EffectId,
        media_type: Option<&str>,
        body: &[u8],
        end: Option<Input<'static>>,
    ) {
        self.enter(
            10,
            Input::Opened {
                effect,
                content_type: media_type.map(str::to_owned),
            },
        );
        let mut rest = body;
        let mut at = 10;
        while !rest.is_empty() {
            let size = match self.cut {
                Cut::Whole => rest.len(),
                Cut::Every(size) => size,
                Cut::Seeded => 1 + usize::try_from(self.random() % 97).expect("small"),
            };
            let (chunk, later) = rest.split_at(size.clamp(1, rest.len()));
            at += 1;
            self.enter(
                at,
                Input::Received {
                    effect,
                    bytes: Cow::Owned(chunk.to_vec()),
                },
            );
            rest = later;
        }
        if let Some(end) = end {
            self.enter(at + 1, end);
        }
    }
}
