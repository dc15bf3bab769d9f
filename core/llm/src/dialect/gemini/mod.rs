//! Google's Gemini: `streamGenerateContent` with `alt=sse`, as the Gemini API and Vertex AI have it.
//!
//! Source: <https://ai.google.dev/api/generate-content>; for signatures
//! <https://ai.google.dev/gemini-api/docs/thought-signatures>; for arguments in pieces
//! <https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling>, "Streaming function call
//! arguments".
//!
//! The mapping of a stream to events:
//! - of several candidates the first is read;
//! - text is messages, thought text is reasoning, and a call is a call of the message before it. A call without an id
//!   gets a made one. Arguments in fragments (`partialArgs`) may come in any order, so they are joined and emitted when
//!   the call is complete;
//! - a thought signature, and the id of a call, are kept as the encrypted value of their item, so that the next request
//!   has them in the same place;
//! - `inlineData` is media that the model made, and an activity of their own. The other kinds of parts are `CUSTOM`
//!   events of the part's name (`executableCode`, `codeExecutionResult`, `fileData`, `toolCall`, `toolResponse`), with
//!   the part's content. The complete part, with its signature, is the encrypted value of an assistant message without
//!   text at its place, unless it is a thought that is not signed. An unknown kind is a `CUSTOM` event named `part`,
//!   and metadata about sources is one named `citation`; neither is sent back;
//! - the answer is over when the body ends, if there was a finish reason, or a reason for which the prompt was blocked:
//!   either is the stop reason. `STOP` comes with calls too;
//! - an error inside the stream is a `RUN_ERROR`, and nothing after it is read.
//!
//! A request cannot express: cache markers (Gemini caches by itself; an explicit cache is `cachedContent` in the app's
//! own fields), whether calls may be parallel, and the name and the strictness of a schema.

mod chunk;
mod contents;
mod decode;
mod encode;
mod model;
mod partial;
mod parts;
mod seal;

pub(super) use contents::NO_SIGNATURE;
pub(super) use decode::Decoder;
pub(super) use encode::Encoder;
pub(super) use model::{is_built_in, is_third_generation, thinking_level};
