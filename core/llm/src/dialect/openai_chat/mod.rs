//! OpenAI's Chat Completions, and the many servers that are compatible with it, each in its own way.
//!
//! Source: <https://platform.openai.com/docs/api-reference/chat>, and the providers' own pages for where they differ.
//!
//! The mapping of a stream to events:
//! - all text of choice 0 is one assistant message, and the hop's calls belong to it. Text after a call goes on in the
//!   same message;
//! - reasoning is a reasoning message for each stretch of it. OpenRouter's `reasoning_details` are kept as that
//!   message's encrypted value: the list that goes back with the next request, pieces of one text joined;
//! - a refusal is a `CUSTOM` event named `refusal` for each piece, and whole in the metadata of the message, as
//!   `refusal`: so it goes back with the next request;
//! - sound that the model makes is a WAV file, an activity of the type `media`, once it is whole; what it says is the text;
//! - a citation (an annotation, or a reference of Mistral's) is a `CUSTOM` event named `citation` with the provider's
//!   object;
//! - `RUN_FINISHED` carries the token usage, and the provider's finish reason as `stopReason` in its metadata;
//! - an error inside the stream or the choice is a `RUN_ERROR`, and what comes after it is not read. So is a stream that
//!   ends without an answer and without a finish reason, and one whose finish reason is a call that is not there;
//! - a `message` in the place of a `delta` says all that came so far: what is new of it is said.
//!
//! It says its events itself, not through [`answer`](super::answer): a hop has one message, whatever comes between, and
//! its calls can end only with the stream.

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
