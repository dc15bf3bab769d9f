//! Writes one answer in the bytes of its provider, frame by frame and without a socket.

use serde_json::{Value, json};

use crate::Dialect;
use crate::dialect::Encoder;

/// The conditions of an answer besides its content: the request that it is for, and its place in the conversation.
#[derive(Clone, Debug)]
#[must_use]
pub struct Setting {
    pub(crate) request: Value,
    pub(crate) position: usize,
    pub(crate) signs: bool,
    pub(crate) splits: bool,
    pub(crate) response_id: Option<String>,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            request: json!({
                "model": "m",
                "stream_options": {"include_usage": true},
                "threadId": "thread",
                "runId": "run",
            }),
            position: 0,
            signs: false,
            splits: false,
            response_id: None,
        }
    }
}

impl Setting {
    /// An answer to a request that names the model `m` and asks for usage, the first of its conversation.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers this request: its model, whether it asks for usage or for encrypted reasoning, its custom tools, its
    /// thread and run.
    pub fn request(mut self, body: Value) -> Self {
        self.request = body;
        self
    }

    /// Sets how many answers the conversation holds already: the ids of an answer begin with it.
    pub const fn position(mut self, position: usize) -> Self {
        self.position = position;
        self
    }

    /// Sets the id of an answer that its provider stores, where the provider has such.
    #[cfg(feature = "server")]
    pub(crate) fn response_id(mut self, id: impl Into<String>) -> Self {
        self.response_id = Some(id.into());
        self
    }

    /// Signs reasoning that no script has sealed, as Anthropic does.
    pub const fn signs(mut self) -> Self {
        self.signs = true;
        self
    }

    /// Makes each text of an AG-UI run a message of its own, and its calls another. Without it all of a run is one message,
    /// as it is for the providers.
    pub const fn splits_messages(mut self) -> Self {
        self.splits = true;
        self
    }
}

/// The tokens of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the request.
    pub input: u64,
    /// Tokens of the answer.
    pub output: u64,
}

/// Content that is streamed in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// The model's text.
    Text,
    /// The model's reasoning.
    Reasoning,
    /// Why it will not answer. Where a provider has no form for it this is text.
    Refusal,
}

/// A part of a streamed answer. Blocks are closed before another kind of content begins; calls that are
/// interleaved are open side by side.
#[derive(Clone, Copy)]
pub(crate) enum Part<'a> {
    Start,
    Begin(Block),
    Piece(Block, &'a str),
    /// A piece of text that cites a page.
    Cited(&'a str),
    /// The last piece of reasoning, with the value that the provider wants back.
    Sealed(&'a str, &'a str),
    End(Block),
    /// Reasoning that only the provider can read.
    Redacted(&'a str),
    CallStart {
        index: usize,
        id: &'a str,
        name: &'a str,
        seal: Option<&'a str>,
    },
    CallArguments {
        index: usize,
        id: &'a str,
        piece: &'a str,
    },
    CallEnd {
        id: &'a str,
    },
    Error {
        message: &'a str,
        code: Option<&'a str>,
    },
    Finish {
        stop_reason: Option<&'a str>,
        usage: Option<Usage>,
    },
}

/// Writes one answer. What it wrote is taken with [`take`](Self::take); blocks are begun and ended as they are needed.
pub struct Writer {
    encoder: Box<dyn Encoder>,
    open: Option<Block>,
    frames: Vec<Vec<u8>>,
}

impl Writer {
    /// A writer of an answer that has not begun.
    #[must_use]
    pub fn new(dialect: Dialect, setting: &Setting) -> Self {
        Self {
            encoder: dialect.wire().encoder(setting),
            open: None,
            frames: Vec::new(),
        }
    }

    /// Returns the frames since the last call, complete events or lines.
    pub fn take(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.frames)
    }

    pub(crate) fn part(&mut self, part: Part<'_>) {
        self.encoder.encode(part, &mut self.frames);
    }

    /// Begins the answer.
    pub fn start(&mut self) {
        self.part(Part::Start);
    }

    /// Opens a block, unless it is the open one.
    pub fn open(&mut self, block: Block) {
        if self.open != Some(block) {
            self.close();
            self.open = Some(block);
            self.part(Part::Begin(block));
        }
    }

    /// Ends the block that is open.
    pub fn close(&mut self) {
        if let Some(block) = self.open.take() {
            self.part(Part::End(block));
        }
    }

    /// Writes a piece of content.
    pub fn piece(&mut self, block: Block, piece: &str) {
        self.open(block);
        self.part(Part::Piece(block, piece));
    }

    /// Writes a piece of text that cites a page, where the provider has citations.
    pub fn cited(&mut self, piece: &str) {
        self.open(Block::Text);
        self.part(Part::Cited(piece));
    }

    /// Writes the last piece of reasoning, with a value that the provider wants back.
    pub fn sealed(&mut self, piece: &str, seal: &str) {
        self.open(Block::Reasoning);
        self.part(Part::Sealed(piece, seal));
        self.close();
    }

    /// Reasoning that only the provider can read, where it has such.
    pub fn redacted(&mut self, data: &str) {
        self.close();
        self.part(Part::Redacted(data));
    }

    /// Begins the call that is the `index`-th of its answer.
    pub fn call_start(&mut self, index: usize, id: &str, name: &str) {
        self.sealed_call_start(index, id, name, None);
    }

    /// Begins a call with a value that the provider wants back, where it has such.
    pub fn sealed_call_start(&mut self, index: usize, id: &str, name: &str, seal: Option<&str>) {
        self.close();
        self.part(Part::CallStart {
            index,
            id,
            name,
            seal,
        });
    }

    /// Writes a piece of a call's arguments.
    pub fn call_arguments(&mut self, index: usize, id: &str, piece: &str) {
        self.part(Part::CallArguments { index, id, piece });
    }

    /// Ends a call.
    pub fn call_end(&mut self, id: &str) {
        self.part(Part::CallEnd { id });
    }

    /// The provider's error within the stream, after which nothing comes.
    pub fn error(&mut self, message: &str, code: Option<&str>) {
        self.part(Part::Error { message, code });
    }

    /// Writes one frame with this data.
    pub fn frame(&mut self, data: &str) {
        let frame = self.encoder.frame(data);
        self.frames.push(frame);
    }

    /// Ends the answer, for the provider's usual reason or this one.
    pub fn finish(&mut self, stop_reason: Option<&str>, usage: Option<Usage>) {
        self.close();
        self.part(Part::Finish { stop_reason, usage });
    }
}
