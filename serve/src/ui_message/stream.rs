//! The stream of a chat's run.

use super::encoder::UiMessageEncoder;
use crate::follow::RunStream;
use bytes::Bytes;
use futures::Stream;
use std::time::Duration;

/// The UI message stream of a chat's run. When the stream is dropped, the run continues for a while.
#[derive(Debug)]
pub struct ChatStream {
    run: RunStream,
    message_id: String,
    skip: usize,
}

impl ChatStream {
    #[doc(hidden)]
    #[must_use]
    pub fn new(run: RunStream, message_id: String) -> Self {
        Self {
            run,
            message_id,
            skip: 0,
        }
    }

    /// Leaves out the first parts: for a client that has them.
    #[must_use]
    pub fn starting_at(self, index: usize) -> Self {
        Self {
            skip: index,
            ..self
        }
    }

    /// Sets after how long a silence a comment is sent.
    #[must_use]
    pub fn keep_alive(self, keep_alive: Duration) -> Self {
        Self {
            run: self.run.keep_alive(keep_alive),
            ..self
        }
    }

    /// Returns the frames of an HTTP body.
    pub fn frames(self) -> impl Stream<Item = Bytes> + Send + 'static {
        let encoder = UiMessageEncoder::new(self.message_id);
        self.run.chat_frames(encoder, self.skip)
    }
}
