//! What the mad host, network and user say: an answer that fits what was asked, one that comes too late, or none.

use super::model::says;
use super::{Mad, Press};
use crate::interrupts::answer;
use crate::wire::{body, numbered};
use stepwell_core::CallKey;
use stepwell_core::dialect::Resumption;
use stepwell_core::event::Message;
use stepwell_core::run::{
    Decision, EffectId, HookAnswer, HookPlace, Input, Question, Refusal, Start, UserAnswer,
};
use stepwell_core::tool::ToolFailure;

impl Mad {
    pub(super) fn start(&self) -> Input<'static> {
        Input::Start(Box::new(Start::new(
            "run-1",
            Message::user("user-1", "Hello"),
        )))
    }

    pub(super) fn pick(&self, pick: u16) -> Option<EffectId> {
        let ids: Vec<_> = self.hands.keys().copied().collect();
        ids.get(usize::from(pick) % ids.len().max(1)).copied()
    }

    /// An answer that fits an effect in the host's hands.
    pub(super) fn answer(&mut self, effect: EffectId, detail: u16) -> Input<'static> {
        let message = "it did not work".to_owned();
        match effect {
            EffectId::CreateRun { hop } if !detail.is_multiple_of(8) => Input::RunCreated {
                effect,
                run_id: format!("backend-{hop}").into(),
            },
            EffectId::CreateRun { .. } => Input::RunNotCreated { effect, message },
            EffectId::Approve(_) => {
                let edited = |arguments: &str| Decision::Edited {
                    arguments: arguments.to_owned(),
                };
                let decision = match detail % 9 {
                    0 | 3 => Decision::Denied { reason: None },
                    4 => edited("{}"),
                    5 => edited("no JSON"),
                    _ => Decision::Granted,
                };
                Input::Decided { effect, decision }
            }
            EffectId::Tool(_) if detail % 29 == 7 => Input::ToolProgress {
                effect,
                fraction: Some(f64::from(detail) / 1e4),
                message: detail.is_multiple_of(2).then_some(message),
            },
            EffectId::Tool(_) if detail % 29 == 8 => Input::ToolPartialResult {
                effect,
                output: "so far".into(),
            },
            EffectId::Tool(_) if matches!(detail % 29, 9..=12) => Input::ToolAsks {
                effect,
                number: u32::from(detail / 29 % 3),
                question: match detail % 29 {
                    9 => Question::yes_or_no("Really?"),
                    10 => Question::new("Really?", serde_json::json!({ "type": 7 })),
                    _ => "Why?".into(),
                },
            },
            EffectId::Ask { .. } => Input::UserAnswered {
                effect,
                answer: match detail % 3 {
                    0 => UserAnswer::declined("not now"),
                    1 => UserAnswer::Given { value: true.into() },
                    _ => UserAnswer::Given {
                        value: "So.".into(),
                    },
                },
            },
            EffectId::Tool(_) if detail.is_multiple_of(7) => Input::ToolDeferred { effect },
            EffectId::Tool(_) => {
                let result = if !detail.is_multiple_of(3) {
                    Ok("a result".into())
                } else {
                    Err(ToolFailure::error(message))
                };
                Input::ToolFinished { effect, result }
            }
            EffectId::Persist { .. } if !detail.is_multiple_of(8) => Input::Persisted { effect },
            EffectId::Persist { .. } => Input::PersistFailed { effect, message },
            EffectId::Trim { .. } if detail.is_multiple_of(8) => {
                Input::ContextNotTrimmed { effect, message }
            }
            EffectId::Trim { .. } => {
                let messages = self.machine.conversation().messages().iter();
                let wanted = |at: &usize| detail >> (at % 16) & 1 == 0;
                let keep = messages.enumerate().filter(|(at, _)| wanted(at));
                Input::ContextTrimmed {
                    effect,
                    keep: keep.map(|(_, message)| message.id().clone()).collect(),
                    summary: detail.is_multiple_of(3).then(|| "They talked.".to_owned()),
                }
            }
            EffectId::Output { .. } if detail.is_multiple_of(3) => Input::OutputRefused {
                effect,
                reason: "it is too long".to_owned(),
            },
            EffectId::Output { .. } => Input::OutputDecoded { effect },
            EffectId::Authorize { .. } if detail.is_multiple_of(16) => {
                Input::NotAuthorized { effect, message }
            }
            EffectId::Authorize { .. } => Input::Authorized {
                effect,
                authorization: "sk-of-now".into(),
            },
            EffectId::Hook { place, .. } => Input::HookAnswered {
                effect,
                answer: match (detail % 11, place) {
                    (0, _) => HookAnswer::refuse("not so"),
                    (1, _) if detail.is_multiple_of(5) => HookAnswer::Failed { message },
                    (2, HookPlace::Request { .. }) => {
                        HookAnswer::messages(vec![Message::user("u", "Hm")])
                    }
                    (2, HookPlace::Call(_)) => HookAnswer::arguments(&serde_json::json!({})),
                    (3, HookPlace::Call(_)) if detail.is_multiple_of(4) => {
                        HookAnswer::arguments(&serde_json::json!(7))
                    }
                    (2, HookPlace::Result(_)) => HookAnswer::result("another"),
                    _ => HookAnswer::GoOn,
                },
            },
            EffectId::Open { hop, .. } => self.network(effect, hop, detail),
        }
    }

    pub(super) fn network(&mut self, effect: EffectId, hop: u32, detail: u16) -> Input<'static> {
        let dialect = self.config.endpoint.dialect;
        let message = "the network is gone".to_owned();
        let can_resume = self.config.endpoint.quirks.resumption == Resumption::LastEventId;
        match self.hands.get_mut(&effect).expect("it is in the hands") {
            stream @ None => match detail % 8 {
                0 => Input::ConnectionFailed { effect, message },
                1 => Input::Refused {
                    effect,
                    refusal: Refusal {
                        status: 503,
                        ..Refusal::default()
                    },
                },
                2 if detail % 16 == 2 => Input::Refused {
                    effect,
                    refusal: Refusal {
                        status: if detail % 32 == 2 { 400 } else { 401 },
                        ..Refusal::default()
                    },
                },
                _ => {
                    let says = says(dialect, detail / 8);
                    *stream = Some(match self.resumes_after.get(&effect) {
                        Some(after) => self.streams[&hop][*after..].concat().into_bytes(),
                        None if can_resume => {
                            let frames = numbered(dialect, hop as usize, &says);
                            let body = frames.concat().into_bytes();
                            self.streams.insert(hop, frames);
                            body
                        }
                        None => body(dialect, hop as usize, &says),
                    });
                    Input::Opened {
                        effect,
                        content_type: None,
                    }
                }
            },
            Some(rest) if rest.is_empty() || detail.is_multiple_of(32) => {
                if detail % 8 == 1 {
                    Input::Lost { effect, message }
                } else {
                    Input::Ended { effect }
                }
            }
            Some(rest) => {
                let size = (usize::from(detail) % 400 + 1).min(rest.len());
                let bytes: Vec<u8> = rest.drain(..size).collect();
                Input::Received {
                    effect,
                    bytes: bytes.into(),
                }
            }
        }
    }

    /// An answer to something that was asked once, or never.
    pub(super) fn stale(&mut self, press: Press) -> Input<'static> {
        let known = self
            .known
            .get(usize::from(press.pick) % self.known.len().max(1))
            .copied();
        let call = CallKey {
            hop: u32::from(press.pick % 3),
            index: u32::from(press.pick % 4),
        };
        let effect = known.unwrap_or(EffectId::Tool(call));
        match (effect, press.detail % 3) {
            _ if self.hands.contains_key(&effect) => Input::Timeout,
            (EffectId::Open { .. }, 0) => Input::Opened {
                effect,
                content_type: None,
            },
            (EffectId::Open { .. }, 1) => Input::Received {
                effect,
                bytes: b"data: {}\n\n"[..].into(),
            },
            (EffectId::Open { .. }, _) => Input::Ended { effect },
            (effect, _) => self.answer(effect, press.detail),
        }
    }

    pub(super) fn resume(&self, detail: u16) -> Input<'static> {
        let mut answers: Vec<_> = self
            .machine
            .interrupts()
            .iter()
            .map(|interrupt| answer(&interrupt.id))
            .collect();
        match detail % 8 {
            0 => answers.push(answer("nobody")),
            1 => drop(answers.pop()),
            2 => answers.extend(answers.clone()),
            _ => {}
        }
        Input::Resume(answers)
    }

    /// The user types; now and then with an id that is known, or as somebody else.
    pub(super) fn steer(&self, detail: u16) -> Input<'static> {
        let id = format!(
            "steer-{}",
            self.steers
                .saturating_sub(usize::from(detail.is_multiple_of(8)))
        );
        Input::Steer(Box::new(match detail % 16 {
            1 => Message::user("user-1", "Twice"),
            2 => Message::Tool(Default::default()),
            _ => Message::user(id, "And"),
        }))
    }
}
