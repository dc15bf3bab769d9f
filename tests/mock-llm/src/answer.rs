//! An answer as data: its content, and its frames in any dialect.

use crate::Dialect;
use crate::writer::{Block, Setting, Usage, Writer};

/// What one answer says, for a test that feeds a decoder without a socket. A [`Hop`](crate::Hop) is the same for the server.
///
/// ```
/// use stepwell_mock_llm::{Answer, Call, Dialect};
///
/// let answer = Answer::new()
///     .text(["Let me ", "look."])
///     .call(Call::new("a", "get", [r#"{"name":"#, r#""alice"}"#]))
///     .usage(12, 7);
/// for dialect in Dialect::ALL {
///     let frames = answer.frames(dialect, &Default::default());
///     assert!(frames.len() > 2, "{dialect:?}");
/// }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Answer {
    says: Vec<Say>,
    stop_reason: Option<String>,
    usage: Option<Usage>,
    is_bare: bool,
    is_cut: bool,
}

#[derive(Clone, Debug)]
enum Say {
    Pieces(Block, Vec<String>),
    Cited(String),
    Sealed(Vec<String>, String),
    Redacted(String),
    Calls(Vec<Call>),
    Frame(String),
    Bytes(Vec<u8>),
    Error(String),
}

/// A tool call of an [`Answer`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Call {
    id: Option<String>,
    name: String,
    pieces: Vec<String>,
    seal: Option<String>,
}

impl Call {
    /// Creates a call whose arguments come in these pieces.
    pub fn new<P: Into<String>>(
        id: impl Into<String>,
        name: impl Into<String>,
        pieces: impl IntoIterator<Item = P>,
    ) -> Self {
        Self {
            id: Some(id.into()),
            ..Self::unnamed(name, pieces)
        }
    }

    /// A call whose id the provider makes, or which has none where the provider gives none.
    pub fn unnamed<P: Into<String>>(
        name: impl Into<String>,
        pieces: impl IntoIterator<Item = P>,
    ) -> Self {
        Self {
            id: None,
            name: name.into(),
            pieces: pieces.into_iter().map(Into::into).collect(),
            seal: None,
        }
    }

    /// Adds a value that the provider wants back with the call: Gemini's thought signature, Anthropic's caller.
    pub fn sealed(mut self, seal: impl Into<String>) -> Self {
        self.seal = Some(seal.into());
        self
    }
}

impl Answer {
    /// Creates an empty answer.
    pub fn new() -> Self {
        Self::default()
    }

    fn say(mut self, say: Say) -> Self {
        self.says.push(say);
        self
    }

    /// Adds text in these pieces, a block of its own.
    pub fn text<P: Into<String>>(self, pieces: impl IntoIterator<Item = P>) -> Self {
        self.pieces(Block::Text, pieces)
    }

    /// Adds reasoning in these pieces, a block of its own.
    pub fn reasoning<P: Into<String>>(self, pieces: impl IntoIterator<Item = P>) -> Self {
        self.pieces(Block::Reasoning, pieces)
    }

    /// Adds a refusal in these pieces, a block of its own.
    pub fn refusal<P: Into<String>>(self, pieces: impl IntoIterator<Item = P>) -> Self {
        self.pieces(Block::Refusal, pieces)
    }

    fn pieces<P: Into<String>>(self, block: Block, pieces: impl IntoIterator<Item = P>) -> Self {
        let pieces = pieces.into_iter().map(Into::into).collect();
        self.say(Say::Pieces(block, pieces))
    }

    /// Text that cites a page.
    pub fn cited(self, text: impl Into<String>) -> Self {
        self.say(Say::Cited(text.into()))
    }

    /// Adds reasoning in these pieces, with a value that the provider wants back.
    pub fn sealed_reasoning<P: Into<String>>(
        self,
        pieces: impl IntoIterator<Item = P>,
        seal: impl Into<String>,
    ) -> Self {
        let pieces = pieces.into_iter().map(Into::into).collect();
        self.say(Say::Sealed(pieces, seal.into()))
    }

    /// Reasoning that only the provider can read.
    pub fn redacted_reasoning(self, data: impl Into<String>) -> Self {
        self.say(Say::Redacted(data.into()))
    }

    /// A tool call.
    pub fn call(self, call: Call) -> Self {
        self.calls([call])
    }

    /// Adds calls side by side: all begin, their pieces come in turn, all end.
    pub fn calls(self, calls: impl IntoIterator<Item = Call>) -> Self {
        self.say(Say::Calls(calls.into_iter().collect()))
    }

    /// Adds one frame with this data.
    pub fn frame(self, data: impl Into<String>) -> Self {
        self.say(Say::Frame(data.into()))
    }

    /// Adds these very bytes, as a frame of their own.
    pub fn bytes(self, bytes: impl Into<Vec<u8>>) -> Self {
        self.say(Say::Bytes(bytes.into()))
    }

    /// The provider's error within the stream, which ends it.
    pub fn error(self, message: impl Into<String>) -> Self {
        self.say(Say::Error(message.into()))
    }

    /// Sets why the answer ends, in the provider's own word.
    pub fn stop_reason(mut self, reason: impl Into<String>) -> Self {
        self.stop_reason = Some(reason.into());
        self
    }

    /// Sets the usage of the answer. Without it none is reported.
    pub const fn usage(mut self, input: u64, output: u64) -> Self {
        self.usage = Some(Usage { input, output });
        self
    }

    /// Leaves out what begins and ends an answer in the dialect: for one that has a beginning and an end of its own.
    pub const fn bare(mut self) -> Self {
        self.is_bare = true;
        self
    }

    /// Leaves out the answer's end.
    pub const fn cut(mut self) -> Self {
        self.is_cut = true;
        self
    }

    /// Returns the frames of the answer: complete events or lines.
    #[must_use]
    pub fn frames(&self, dialect: Dialect, setting: &Setting) -> Vec<Vec<u8>> {
        let mut writer = Writer::new(dialect, setting);
        let mut frames = Vec::new();
        let mut calls = 0;
        if !self.is_bare {
            writer.start();
        }
        for say in &self.says {
            match say {
                Say::Pieces(block, pieces) => {
                    writer.close();
                    for piece in pieces {
                        writer.piece(*block, piece);
                    }
                }
                Say::Cited(text) => {
                    writer.close();
                    writer.cited(text);
                }
                Say::Sealed(pieces, seal) => {
                    let (last, before) = pieces
                        .split_last()
                        .map_or(("", &[][..]), |(last, before)| (last.as_str(), before));
                    for piece in before {
                        writer.piece(Block::Reasoning, piece);
                    }
                    writer.sealed(last, seal);
                }
                Say::Redacted(data) => writer.redacted(data),
                Say::Calls(batch) => write_calls(&mut writer, batch, calls, setting),
                Say::Frame(data) => {
                    writer.close();
                    writer.frame(data);
                }
                Say::Bytes(bytes) => {
                    writer.close();
                    frames.append(&mut writer.take());
                    frames.push(bytes.clone());
                }
                Say::Error(message) => {
                    writer.error(message, None);
                    frames.append(&mut writer.take());
                    return frames;
                }
            }
            if let Say::Calls(batch) = say {
                calls += batch.len();
            }
        }
        if self.is_bare && !self.is_cut {
            writer.close();
        } else if !self.is_cut {
            writer.finish(self.stop_reason.as_deref(), self.usage);
        }
        frames.append(&mut writer.take());
        frames
    }

    /// The frames as one body.
    #[must_use]
    pub fn body(&self, dialect: Dialect, setting: &Setting) -> Vec<u8> {
        self.frames(dialect, setting).concat()
    }
}

fn write_calls(writer: &mut Writer, batch: &[Call], first: usize, setting: &Setting) {
    let ids: Vec<_> = batch
        .iter()
        .zip(first..)
        .map(|(call, index)| {
            let made = || made_id(setting.position, index);
            call.id.clone().unwrap_or_else(made)
        })
        .collect();
    for ((call, id), index) in batch.iter().zip(&ids).zip(first..) {
        writer.sealed_call_start(index, id, &call.name, call.seal.as_deref());
    }
    let rounds = batch.iter().map(|call| call.pieces.len()).max();
    for round in 0..rounds.unwrap_or(0) {
        for ((call, id), index) in batch.iter().zip(&ids).zip(first..) {
            if let Some(piece) = call.pieces.get(round) {
                writer.call_arguments(index, id, piece);
            }
        }
    }
    for id in &ids {
        writer.call_end(id);
    }
}

/// The id of a call that the script gave none.
pub(crate) fn made_id(position: usize, index: usize) -> String {
    format!("call_{position}_{index}")
}
