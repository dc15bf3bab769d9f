//! The answers of the host, the network and the user: valid, late or missing.

use super::model::Model;
use super::stored::stored;
use super::{Chaos, Given, value_of};
use crate::reply::{body, media_type, numbered};
use serde_json::json;
use std::sync::Arc;
use stepwell_core::CallKey;
use stepwell_core::dialect::Resumption;
use stepwell_core::event::{Message, ResumeEntry, ResumeStatus};
use stepwell_core::run::{
    Decision, EffectId, HookAnswer, HookPlace, Input, Question, Refusal, Start, UserAnswer,
};
use stepwell_core::tool::{ToolFailure, ToolResult};

/// The detail by which a request is answered by a stream with text alone, and the stream ends as it should.
const GOOD_STREAM: u16 = 4 * 8 + 7;

/// The statuses with which providers refuse.
const STATUSES: [u16; 8] = [503, 429, 529, 500, 404, 502, 408, 413];

impl Chaos {
    pub(super) fn start() -> Input<'static> {
        let message = Message::user("user-1", "Hello");
        Input::Start(Box::new(Start::new("run-1", message)))
    }

    /// Returns one of the effects that the host was given.
    pub(super) fn pick(&self, pick: u16) -> Option<EffectId> {
        let count = self.given.len().max(1);
        self.given.keys().nth(usize::from(pick) % count).copied()
    }

    /// The answer of a host to which nothing happens.
    pub(super) fn good_answer(&mut self, effect: EffectId) -> Input<'static> {
        let is_open = matches!(effect, EffectId::Open { .. });
        self.answer(effect, if is_open { GOOD_STREAM } else { 1 })
    }

    /// An answer that fits an effect.
    pub(super) fn answer(&mut self, effect: EffectId, detail: u16) -> Input<'static> {
        let message = "it did not work".to_owned();
        match effect {
            EffectId::CreateRun { hop } if !detail.is_multiple_of(8) => Input::RunCreated {
                effect,
                run_id: format!("backend-{hop}").into(),
            },
            EffectId::CreateRun { .. } => Input::RunNotCreated { effect, message },
            EffectId::Approve(call) => Input::Decided {
                effect,
                decision: self.decision(call, detail),
            },
            EffectId::Tool(_) => self.tool_answer(effect, detail),
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
            EffectId::Persist { .. } if !detail.is_multiple_of(8) => Input::Persisted { effect },
            EffectId::Persist { .. } => Input::PersistFailed { effect, message },
            EffectId::Trim { .. } if detail.is_multiple_of(8) => {
                Input::ContextNotTrimmed { effect, message }
            }
            EffectId::Trim { .. } => {
                let messages = self.machine.transcript().messages().iter();
                let is_kept = |at: &usize| detail >> (at % 16) & 1 == 0;
                let keep = messages.enumerate().filter(|(at, _)| is_kept(at));
                Input::ContextTrimmed {
                    effect,
                    keep: keep.map(|(_, message)| message.id().clone()).collect(),
                    summary: detail.is_multiple_of(3).then(|| "They talked.".to_owned()),
                }
            }
            EffectId::ChooseModel { .. } if detail.is_multiple_of(5) => {
                Input::ModelNotChosen { effect, message }
            }
            EffectId::ChooseModel { .. } => {
                let others = self.config.fallback.models.len();
                let models = u16::try_from(others).unwrap_or(u16::MAX).saturating_add(1);
                Input::ModelChosen {
                    effect,
                    model: u32::from(detail % models),
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
                answer: hook_answer(place, detail, message),
            },
            EffectId::Open { hop, .. } => self.network(effect, hop, detail),
            _ => Input::Timeout,
        }
    }

    /// The user's decision on a call.
    fn decision(&self, call: CallKey, detail: u16) -> Decision {
        let arguments = match detail % 9 {
            0 | 3 => return Decision::Denied { reason: None },
            4 => {
                let calls = self.machine.transcript().calls();
                let name = calls
                    .iter()
                    .find(|known| known.key == call)
                    .map(|call| call.name.clone());
                let tool = name.and_then(|name| self.config.tools.get(&name));
                let schema = tool.and_then(|tool| tool.definition.parameters.clone());
                value_of(&schema.unwrap_or_else(|| json!({})), u64::from(detail / 9)).to_string()
            }
            5 => "no JSON".to_owned(),
            _ => return Decision::Granted,
        };
        Decision::Edited { arguments }
    }

    fn tool_answer(&self, effect: EffectId, detail: u16) -> Input<'static> {
        let message = "it did not work".to_owned();
        match detail % 29 {
            7 => Input::ToolProgress {
                effect,
                fraction: Some(f64::from(detail) / 1e4),
                message: detail.is_multiple_of(2).then_some(message),
            },
            8 => Input::ToolPartialResult {
                effect,
                output: "so far".into(),
            },
            kind @ 9..=12 => Input::ToolAsks {
                effect,
                number: u32::from(detail / 29 % 3),
                question: match kind {
                    9 => Question::yes_or_no("Really?"),
                    10 => Question::new("Really?", json!({ "type": 7 })),
                    _ => "Why?".into(),
                },
            },
            _ if detail.is_multiple_of(7) => Input::ToolDeferred { effect },
            _ => Input::ToolFinished {
                effect,
                result: if detail.is_multiple_of(3) {
                    Err(ToolFailure::error(message))
                } else {
                    self.tool_result(effect)
                },
            },
        }
    }

    fn tool_result(&self, effect: EffectId) -> ToolResult {
        if let Some(Given::Tool(invocation)) = self.given.get(&effect)
            && let Some(code) = self.tools.get(&invocation.name)
        {
            return code(invocation);
        }
        Ok("a result".into())
    }

    fn network(&mut self, effect: EffectId, hop: u32, detail: u16) -> Input<'static> {
        let message = "the network is gone".to_owned();
        match self.given.get_mut(&effect) {
            Some(Given::Stream(rest)) if rest.is_empty() || detail.is_multiple_of(32) => {
                if detail % 8 == 1 {
                    Input::Lost { effect, message }
                } else {
                    Input::Ended { effect }
                }
            }
            Some(Given::Stream(rest)) => {
                let size = (usize::from(detail) % 400 + 1).min(rest.len());
                let bytes: Vec<u8> = rest.drain(..size).collect();
                Input::Received {
                    effect,
                    bytes: bytes.into(),
                }
            }
            _ => match detail % 8 {
                0 => Input::ConnectionFailed { effect, message },
                1 => Input::Refused {
                    effect,
                    refusal: refused(STATUSES[usize::from(detail / 8) % STATUSES.len()]),
                },
                2 if detail % 16 == 2 => Input::Refused {
                    effect,
                    refusal: refused(if detail % 32 == 2 { 400 } else { 401 }),
                },
                _ => {
                    let is_whole = self.resumes_after.get(&effect) == Some(&usize::MAX);
                    let (body, content_type) = match self.streams.get(&hop) {
                        Some(frames) if is_whole => {
                            // A host to which nothing happens finds it finished.
                            let is_finished = detail == GOOD_STREAM || !detail.is_multiple_of(3);
                            let dialect = self.asked().endpoint.dialect;
                            (stored(dialect, frames, is_finished), "application/json")
                        }
                        _ => {
                            let body = self.open(effect, hop, detail / 8);
                            (body, media_type(self.asked().endpoint.dialect))
                        }
                    };
                    self.given.insert(effect, Given::Stream(body));
                    let content_type = Some(content_type.to_owned());
                    Input::Opened {
                        effect,
                        content_type,
                    }
                }
            },
        }
    }

    /// The body of the stream that a request opens.
    fn open(&mut self, effect: EffectId, hop: u32, choice: u16) -> Vec<u8> {
        let asked = Arc::clone(self.asked());
        let dialect = asked.endpoint.dialect;
        if let Some(after) = self.resumes_after.get(&effect)
            && let Some(frames) = self.streams.get(&hop)
        {
            let rest = frames.get(*after..).unwrap_or_default();
            return rest.concat().into_bytes();
        }
        let parts = Model::new(&asked, choice).parts();
        if asked.endpoint.quirks.resumption != Resumption::Never {
            let frames = numbered(dialect, hop as usize, &parts);
            let body = frames.concat().into_bytes();
            self.streams.insert(hop, frames);
            return body;
        }
        body(dialect, hop as usize, &parts)
    }

    /// An answer to an effect that is answered already, or was never given.
    pub(super) fn late_answer(&mut self, pick: u16, detail: u16) -> Input<'static> {
        let known = self.known.get(usize::from(pick) % self.known.len().max(1));
        let call = CallKey {
            hop: u32::from(pick % 3),
            index: u32::from(pick % 4),
        };
        let effect = known.copied().unwrap_or(EffectId::Tool(call));
        match (effect, detail % 3) {
            _ if self.given.contains_key(&effect) => Input::Timeout,
            (EffectId::Open { .. }, 0) => Input::Opened {
                effect,
                content_type: None,
            },
            (EffectId::Open { .. }, 1) => Input::Received {
                effect,
                bytes: b"data: {}\n\n"[..].into(),
            },
            (EffectId::Open { .. }, _) => Input::Ended { effect },
            (effect, _) => self.answer(effect, detail),
        }
    }

    /// The user's answers to an agent's questions: all of them, one too few, one too many, or each twice.
    pub(super) fn resume(&self, detail: u16) -> Input<'static> {
        let interrupts = self.machine.interrupts().iter();
        let mut answers: Vec<_> = interrupts
            .map(|interrupt| resolved(&interrupt.id))
            .collect();
        match detail % 8 {
            0 => answers.push(resolved("nobody")),
            1 => drop(answers.pop()),
            2 => answers.extend(answers.clone()),
            _ => {}
        }
        Input::Resume(answers)
    }

    /// The user's message during the turn; now and then with an id that is known, or of another role.
    pub(super) fn steer(&self, detail: u16) -> Input<'static> {
        let repeated = usize::from(detail.is_multiple_of(8));
        let id = format!("steer-{}", self.steered.saturating_sub(repeated));
        Input::Steer(Box::new(match detail % 16 {
            1 => Message::user("user-1", "Twice"),
            2 => Message::Tool(Default::default()),
            _ => Message::user(id, "And"),
        }))
    }
}

fn refused(status: u16) -> Refusal {
    Refusal {
        status,
        ..Refusal::default()
    }
}

fn resolved(id: &str) -> ResumeEntry {
    ResumeEntry {
        interrupt_id: id.to_owned(),
        status: ResumeStatus::Resolved,
        payload: Some(json!({"answer": id})),
        metadata: None,
        extra: Default::default(),
    }
}

fn hook_answer(place: HookPlace, detail: u16, message: String) -> HookAnswer {
    match (detail % 11, place) {
        (0, _) => HookAnswer::refuse("not so"),
        (1, _) if detail.is_multiple_of(5) => HookAnswer::Failed { message },
        (2, HookPlace::Request { .. }) => HookAnswer::messages(vec![Message::user("u", "Hm")]),
        (2, HookPlace::Call(_)) => HookAnswer::arguments(&json!({})),
        (3, HookPlace::Call(_)) if detail.is_multiple_of(4) => HookAnswer::arguments(&json!(7)),
        (2, HookPlace::Result(_)) => HookAnswer::result("another"),
        _ => HookAnswer::GoOn,
    }
}
