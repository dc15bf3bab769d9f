//! The provider's replies to requests, and the way in which their bytes arrive.

use super::World;
use crate::reply::{Part, body, media_type};
use std::borrow::Cow;
use stepwell_core::run::{EffectId, Input, Refusal};

/// The provider's reply to one request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A stream of these parts, after which the connection closes normally.
    Complete(Vec<Part>),
    /// A stream of these parts, after which the connection breaks.
    Broken(Vec<Part>),
    /// A stream of these parts, after which nothing follows, not even an end.
    Stalled(Vec<Part>),
    /// A stream of these bytes.
    Bytes(Vec<u8>, Ending),
    /// A 2xx response with this media type and body.
    Body(Option<&'static str>, Vec<u8>),
    /// A response with another status.
    Refused(Refusal),
    /// No connection.
    Unreachable,
    /// A connection without a response.
    Silent,
}

/// The ending of a stream after its bytes.
#[derive(Clone, Copy, Debug)]
pub enum Ending {
    /// The connection closes as it should.
    Complete,
    /// The connection breaks.
    Broken,
    /// Nothing.
    Stalled,
}

/// The way in which bodies are cut into chunks.
#[derive(Clone, Copy, Debug)]
pub enum Cut {
    /// Bodies are not cut.
    Whole,
    /// Into chunks of this many bytes.
    Every(usize),
    /// Into chunks of 1 to 97 bytes, by the world's seed.
    Seeded,
}

impl World {
    pub(super) fn serve(&mut self, effect: EffectId) {
        let EffectId::Open { hop, .. } = effect else {
            panic!("{effect} opens no stream")
        };
        let reply = self
            .replies
            .pop_front()
            .or_else(|| self.fallback_reply.clone());
        let reply = reply.unwrap_or_else(|| panic!("no answer is scripted for {effect}"));
        let asked = self.machine.config().unwrap_or(&self.config);
        let dialect = asked.endpoint.dialect;
        let hop = hop as usize;
        let sse = Some(media_type(dialect));
        let lost = Input::Lost {
            effect,
            message: "connection reset".to_owned(),
        };
        match reply {
            Reply::Complete(parts) => self.stream(
                effect,
                sse,
                &body(dialect, hop, &parts),
                Some(Input::Ended { effect }),
            ),
            Reply::Broken(parts) => {
                self.stream(effect, sse, &body(dialect, hop, &parts), Some(lost));
            }
            Reply::Bytes(bytes, ending) => {
                let end = match ending {
                    Ending::Complete => Some(Input::Ended { effect }),
                    Ending::Broken => Some(lost),
                    Ending::Stalled => None,
                };
                self.stream(effect, sse, &bytes, end);
            }
            Reply::Stalled(parts) => self.stream(effect, sse, &body(dialect, hop, &parts), None),
            Reply::Body(media_type, body) => {
                self.stream(effect, media_type, &body, Some(Input::Ended { effect }));
            }
            Reply::Refused(refusal) => self.schedule(10, Input::Refused { effect, refusal }),
            Reply::Unreachable => {
                self.schedule(
                    10,
                    Input::ConnectionFailed {
                        effect,
                        message: "connection refused".to_owned(),
                    },
                );
            }
            Reply::Silent => {}
        }
    }

    fn stream(
        &mut self,
        effect: EffectId,
        media_type: Option<&str>,
        body: &[u8],
        end: Option<Input<'static>>,
    ) {
        self.schedule(
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
            self.schedule(
                at,
                Input::Received {
                    effect,
                    bytes: Cow::Owned(chunk.to_vec()),
                },
            );
            rest = later;
        }
        if let Some(end) = end {
            self.schedule(at + 1, end);
        }
    }

    /// The next number of the world's seed (SplitMix64).
    fn random(&mut self) -> u64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
