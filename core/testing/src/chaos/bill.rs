//! What the providers bill: the usage that each answer reported in the bytes that reached the host.

use serde_json::Value;
use std::collections::BTreeMap;
use stepwell_core::dialect::{Endpoint, HopIds};
use stepwell_core::event::TokenUsage;
use stepwell_core::pipeline::Pipeline;
use stepwell_core::run::{EffectId, Input};
use stepwell_core::transcript::Transcript;

/// The answers of all requests. Each is read a second time, by a pipeline of its own.
#[derive(Debug, Default)]
pub(super) struct Bill {
    answers: Vec<Answer>,
    /// The answer that each open request reads.
    open: BTreeMap<EffectId, usize>,
    /// The bodies that are answers as a whole.
    whole: BTreeMap<EffectId, Vec<u8>>,
}

#[derive(Debug)]
struct Answer {
    hop: u32,
    pipeline: Box<Pipeline>,
    transcript: Transcript,
    /// The usage in an answer as a whole.
    whole: Option<(u64, u64)>,
    is_faulty: bool,
}

impl Bill {
    /// Notes what the host is about to pass to the run.
    pub(super) fn note(&mut self, input: &Input<'_>, endpoint: &Endpoint, is_resumed: bool) {
        match input {
            Input::Opened {
                effect,
                content_type,
            } => {
                let media_type = content_type.as_deref().unwrap_or_default();
                let media_type = media_type.split(';').next().unwrap_or_default();
                self.begin(*effect, media_type, endpoint, is_resumed);
            }
            Input::Received { effect, bytes } => {
                if let Some(body) = self.whole.get_mut(effect) {
                    body.extend_from_slice(bytes);
                } else if let Some(answer) = self.open.get(effect).map(|at| &mut self.answers[*at])
                    && !answer.is_faulty
                {
                    let read = answer
                        .pipeline
                        .receive(bytes, &mut answer.transcript, &mut ());
                    answer.is_faulty = read.is_err();
                }
            }
            Input::Ended { effect } => {
                let body = self.whole.remove(effect);
                let answer = body.as_deref().map(serde_json::from_slice::<Value>);
                if let (Some(Ok(stored)), Some(at)) = (answer, self.open.get(effect)) {
                    let usage = &stored["usage"];
                    // Those of an interaction have other names.
                    let tokens = |name: &str| {
                        let total = usage[format!("total_{name}")].as_u64();
                        usage[name].as_u64().or(total)
                    };
                    let both = tokens("input_tokens").zip(tokens("output_tokens"));
                    self.answers[*at].whole = both;
                }
            }
            _ => {}
        }
    }

    fn begin(&mut self, effect: EffectId, media_type: &str, endpoint: &Endpoint, is_resumed: bool) {
        let EffectId::Open { hop, .. } = effect else {
            return;
        };
        let before = self.answers.iter().rposition(|answer| answer.hop == hop);
        let at = match before.filter(|_| is_resumed) {
            Some(at) => {
                self.answers[at].pipeline.reconnect();
                at
            }
            None => {
                let limits = Default::default();
                let pipeline =
                    Pipeline::for_answer(endpoint, media_type, HopIds::default(), limits);
                self.answers.push(Answer {
                    hop,
                    pipeline: Box::new(pipeline),
                    transcript: Transcript::default(),
                    whole: None,
                    is_faulty: false,
                });
                self.answers.len() - 1
            }
        };
        self.open.insert(effect, at);
        // A host that died may have read the answer as a whole under this id.
        self.whole.remove(&effect);
        if is_resumed && media_type == "application/json" {
            self.whole.insert(effect, Vec::new());
        }
    }

    /// Returns the tokens of all requests and of all answers.
    pub(super) fn total(&self) -> (u64, u64) {
        let tokens = self.answers.iter();
        sum(tokens.map(|answer| {
            answer
                .whole
                .unwrap_or_else(|| tokens_in(&answer.transcript))
        }))
    }

    /// Returns the tokens with those in frames that were not complete when the host stopped reading: a run that ends its
    /// answer there counts them.
    pub(super) fn most(&self) -> (u64, u64) {
        let tokens = self.answers.iter();
        sum(tokens.map(|answer| {
            answer.whole.unwrap_or_else(|| {
                let mut pipeline = answer.pipeline.clone();
                let mut transcript = answer.transcript.clone();
                // The answer may have been cut off.
                let _ = pipeline.end(&mut transcript, &mut ());
                tokens_in(&transcript)
            })
        }))
    }
}

fn tokens_in(transcript: &Transcript) -> (u64, u64) {
    let usage = &transcript.summary().usage;
    let sum = |count: fn(&TokenUsage) -> Option<u64>| usage.iter().filter_map(count).sum();
    (
        sum(|usage| usage.input_tokens),
        sum(|usage| usage.output_tokens),
    )
}

fn sum(tokens: impl Iterator<Item = (u64, u64)>) -> (u64, u64) {
    tokens.fold((0, 0), |sum, each| (sum.0 + each.0, sum.1 + each.1))
}
