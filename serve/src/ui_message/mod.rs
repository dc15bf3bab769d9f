//! The AI SDK's chats: their requests as runs, and the events of a run as a
//! [UI message stream](https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol).

pub(crate) mod encoder;
mod part;
mod request;
mod stream;
mod stream_id;
mod tools;

pub use encoder::UiMessageEncoder;
pub use request::ChatRequest;
pub use stream::ChatStream;
pub use stream_id::{STREAM_ID, stream_id};
