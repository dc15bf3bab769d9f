//! OpenAI's Chat Completions, and the many servers that are compatible with it, each in its own way.
//!
//! Source: <https://platform.openai.com/docs/api-reference/chat>, and the providers' own pages for where they differ.
//!
//! The mapping of a stream to events:
//! - all text of choice 0 is one assistant message, and the hop's calls belong to it. Text after a call continues the
//!   same message;
//! - each stretch of reasoning is a reasoning message, also if the server sends it between tags in the text.
//!   OpenRouter's `reasoning_details` are kept as that message's encrypted value: the list for the next request, with
//!   the fragments of one text joined;
//! - a refusal is a `CUSTOM` event named `refusal` for each delta. Its complete text is in the metadata of the message,
//!   as `refusal`, and so is sent back with the next request;
//! - audio that the model makes is a WAV file, an activity of the type `media`, once it is complete; its transcript is
//!   the text;
//! - a citation (an annotation, or a reference of Mistral's) is a `CUSTOM` event named `citation` with the provider's
//!   object;
//! - `RUN_FINISHED` carries the token usage, and the provider's finish reason as `stopReason` in its metadata;
//! - an error inside the stream or the choice is a `RUN_ERROR`, and nothing after it is read. So is a stream that ends
//!   without an answer and without a finish reason, and one whose finish reason is a call that does not exist;
//! - a `message` instead of a `delta` repeats everything so far: only its new content is emitted.
//!
//! The decoder emits its events itself, not through [`answer`](super::answer): a hop has one message, whatever comes
//! between, and its calls can end only with the stream.

mod audio;
mod calls;
mod chunk;
mod decode;
mod encode;
mod messages;
mod parts;
mod reasoning;
mod usage;

pub(super) use decode::Decoder;
pub(super) use encode::{Encoder, response_format};
