//! Ollama's own chat: `/api/chat`, one JSON object a line.
//!
//! Source: <https://github.com/ollama/ollama/blob/main/docs/api.md>, "Generate a chat completion", and
//! <https://docs.ollama.com/capabilities/thinking>.
//!
//! The mapping of a stream to events:
//! - `content` is messages, `thinking` is reasoning, and a call is a call of the message before it. A call comes
//!   complete; one without an id, from an older server, gets a made one. Its `index` has no meaning here;
//! - the line with `done` ends the answer: its `done_reason` is the stop reason (`stop` with calls too), its counts are
//!   the usage;
//! - a line with `error` is a `RUN_ERROR`, and nothing after it is read.
//!
//! A request cannot express: that the model must call a tool, or must call this one (only that one is offered then;
//! with `none`, none is), whether calls may be parallel, the name and the strictness of a schema, cache markers, and
//! media other than pictures in the request itself, which are sent as text.

mod decode;
mod encode;
mod line;
mod messages;

pub(super) use decode::Decoder;
pub(super) use encode::Encoder;
