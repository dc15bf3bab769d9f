//! The AI SDK's chats: their requests as runs, and the events of a run as a
//! [UI message stream](https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol).

pub(crate) mod encoder;
mod request;
mod stream;
mod tools;

pub use encoder::UiMessageEncoder;
pub use request::ChatRequest;
pub use stream::ChatStream;
