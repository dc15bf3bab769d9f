use super::event_position::EventPosition;
use super::limit::AnswerLimit;
#[cfg(feature = "protobuf")]
use crate::event::protobuf::ProtobufError;
use crate::event::{EventError, EventRef, TokenUsage, Violation};
use crate::wire::{Frame, WireError};

/// The receiver of a decoder's events.
pub trait Sink {
    /// Receives one event.
    ///
    /// # Errors
    /// The event is not allowed here, and the stream ends.
    fn event(&mut self, event: EventRef<'_>) -> Result<(), Violation>;

    /// Receives a warning about an oddity that does not stop the stream.
    fn warning(&mut self, message: &str);

    /// Returns whether the arguments of a call are complete JSON so far. The decoder asks where the stream does not
    /// tell. A sink that keeps no arguments returns `true`.
    fn is_whole(&self, tool_call_id: &str) -> bool {
        let _ = tool_call_id;
        true
    }
}

/// Decodes the frames of one stream into events. Implementations are plain data, so a snapshot during a stream is their
/// serde form.
pub trait Decode {
    /// Decodes one frame. A frame that fails emits no event.
    ///
    /// # Errors
    /// The frame is not what the wire format allows, or its events come in an order that is not allowed.
    fn frame(&mut self, frame: Frame<'_>, sink: &mut dyn Sink) -> Result<(), DecodeError>;

    /// Returns whether the answer is complete although the format's own end has not come, so that the body may end
    /// here. The usage, for example, may still follow. It is always `false` for a format in which only the end
    /// completes an answer.
    fn is_done(&self) -> bool;

    /// Returns the usage that the provider has reported so far, which counts if the stream breaks off.
    fn usage(&self) -> Option<&TokenUsage> {
        None
    }

    /// Returns the provider's id of the answer, if it has one.
    fn response_id(&self) -> Option<&str> {
        None
    }

    /// Returns the position of an event in an answer that the provider makes in the background, if the event has one.
    fn event_position<'a>(&self, frame: Frame<'a>) -> Option<EventPosition<'a>>;

    /// Reads an answer that the provider has made in the background as a whole, and emits what no event has brought. Returns
    /// whether the answer is finished; of an unfinished one nothing is emitted.
    ///
    /// # Errors
    /// As for [`frame`](Self::frame). The dialect has no such answers, or the data is none.
    fn stored(&mut self, data: &[u8], sink: &mut dyn Sink) -> Result<bool, DecodeError>;

    /// Reads a frame that is not JSON as a proxy's page, which reports an error; `None` if it is not such a page.
    #[doc(hidden)]
    fn page(&mut self, _data: &[u8], _sink: &mut dyn Sink) -> Option<Result<(), DecodeError>> {
        None
    }

    /// Ends the body: closes what the format leaves open, and finishes the run if the provider completed the answer. A
    /// stream that was cut off gets no `RUN_FINISHED`.
    ///
    /// # Errors
    /// As for [`frame`](Self::frame).
    fn end(&mut self, sink: &mut dyn Sink) -> Result<(), DecodeError>;
}

/// The reason why a stream cannot be decoded any further.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum DecodeError {
    /// The bytes are not valid frames.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A frame is not JSON of the dialect's shape.
    #[error("a frame is not JSON as {dialect} has it: {reason}")]
    Json {
        /// The dialect's name.
        dialect: &'static str,
        /// The parser's error, and its place.
        reason: String,
    },
    /// A frame is not an AG-UI event.
    #[error(transparent)]
    Event(#[from] EventError),
    /// A frame is not an AG-UI event in protobuf.
    #[cfg(feature = "protobuf")]
    #[error(transparent)]
    Protobuf(#[from] ProtobufError),
    /// The events are in an order that the protocol does not allow.
    #[error(transparent)]
    Order(#[from] Violation),
    /// A resumed stream does not continue where it broke off.
    #[error(
        "the resumed stream does not continue where it broke off: {reason} (check the endpoint's `resumption`)"
    )]
    Resumed {
        /// The difference.
        reason: String,
    },
    /// The answer exceeds a limit.
    #[error(transparent)]
    Answer(#[from] AnswerLimit),
    /// An item in the stream does not name what it belongs to.
    #[error("{what} does not say what it belongs to: {reason}")]
    Unplaced {
        /// The item.
        what: &'static str,
        /// The reason why the item has no place.
        reason: &'static str,
    },
}
