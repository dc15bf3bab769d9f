//! The id by which a client resumes the stream of a chat.

use percent_encoding::utf8_percent_encode;
use stepwell_core::dialect::SEGMENT;

/// The response header with the id by which a client resumes the stream of a chat. The `AssistantChatTransport` of
/// assistant-ui stores the id, and hands it to the app's `resumeApi`.
pub const STREAM_ID: &str = "x-resumable-stream-id";

/// Returns the value of [`STREAM_ID`] for a chat: the chat's id, percent-encoded as in the path of its stream.
#[must_use]
pub fn stream_id(chat: &str) -> String {
    utf8_percent_encode(chat, SEGMENT).to_string()
}
