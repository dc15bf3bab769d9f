use super::limit::AnswerLimit;
use crate::event::protobuf::ProtobufError;
use crate::event::{EventError, EventRef, TokenUsage, Violation};
use crate::wire::{Frame, WireError};

/// Where a decoder's events go: the order check, the conversation and the queue for the app, in one.
pub trait Sink {
    /// Takes one event.
    ///
    /// # Errors
    /// The event may not come at this point; the stream is over.
    fn event(&mut self, event: EventRef<'_>) -> Result<(), Violation>;

    /// Takes note of something odd in the stream that does not stop it.
    fn warning(&mut self, message: &str);

    /// Whether the arguments of a call are whole as far as they have come: asked where the stream does not say. Who keeps
    /// no arguments cannot tell, and takes them for whole.
    fn is_whole(&self, tool_call_id: &str) -> bool {
        let _ = tool_call_id;
        true
    }
}

/// Turns the frames of one stream into events. Implementations are plain data: a snapshot in mid-stream is their serde.
pub trait Decode {
    /// Decodes one frame. A frame that fails gives no event at all.
    ///
    /// # Errors
    /// The frame is not what the wire format allows, or its events come in an order that is not allowed.
    fn frame(&mut self, frame: Frame<'_>, sink: &mut dyn Sink) -> Result<(), DecodeError>;

    /// Whether the provider has said all that it will of the answer, though not the format's own end: the body may end
    /// here. What the answer cost, say, may still come. Never in a format whose end alone is one.
    fn is_done(&self) -> bool;

    /// What the answer has cost, as far as the provider has said by now: what counts of a stream that does not come to its
    /// end.
    fn usage(&self) -> Option<&TokenUsage> {
        None
    }

    /// How the provider names the answer, if it has said so.
    fn response_id(&self) -> Option<&str> {
        None
    }

    /// Reads a frame that is no JSON as a proxy's page, which reports an error; nothing if it is none.
    #[doc(hidden)]
    fn page(&mut self, _data: &[u8], _sink: &mut dyn Sink) -> Option<Result<(), DecodeError>> {
        None
    }

    /// The body has ended: closes what the format leaves open, and finishes the run if the provider said that it was
    /// done. A stream that was cut off gets no `RUN_FINISHED`.
    ///
    /// # Errors
    /// As for [`frame`](Self::frame).
    fn end(&mut self, sink: &mut dyn Sink) -> Result<(), DecodeError>;
}

/// Why a stream cannot be decoded any further: the peer's fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum DecodeError {
    /// The bytes cannot be cut into frames.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A frame is not JSON of the dialect's shape.
    #[error("a frame is not JSON as {dialect} has it: {reason}")]
    Json {
        /// The dialect's name.
        dialect: &'static str,
        /// What the parser found, and where.
        reason: String,
    },
    /// A frame is not an AG-UI event.
    #[error(transparent)]
    Event(#[from] EventError),
    /// A frame is not an AG-UI event in protobuf.
    #[error(transparent)]
    Protobuf(#[from] ProtobufError),
    /// The events come in an order that the protocol does not allow.
    #[error(transparent)]
    Order(#[from] Violation),
    /// A stream was opened again after it had broken off, and what comes does not go on with it.
    #[error(
        "the stream that was opened again does not go on where it broke off: {reason}; see the endpoint's `resumption`"
    )]
    Resumed {
        /// What differs.
        reason: String,
    },
    /// The answer goes beyond what one may bring.
    #[error(transparent)]
    Answer(#[from] AnswerLimit),
    /// Something in the stream does not say what it belongs to.
    #[error("{what} does not say what it belongs to: {reason}")]
    Unplaced {
        /// What there is.
        what: &'static str,
        /// Why it has no place.
        reason: &'static str,
    },
}
