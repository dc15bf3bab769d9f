//! Google's Gemini: the Interactions API.
//!
//! Sources: <https://ai.google.dev/gemini-api/docs/interactions>, for streams
//! <https://ai.google.dev/gemini-api/docs/interactions/streaming>, and the types of the package `google-genai` 3.6.1.
//!
//! An answer is a list of steps. The mapping of a stream to events:
//! - a `model_output` step is an assistant message. Media that the model made is an activity of its own, and is sealed in an
//!   assistant message without text at its place, so that the next request has it. An annotation is a `CUSTOM` event
//!   named `citation`, and an error of the step one named `step_error`;
//! - a `thought` step is a reasoning message, with its summary as the text. The step's signature is sealed as the
//!   message's encrypted value;
//! - a `function_call` step is a call. Its arguments come in deltas, or complete when it starts; they are emitted once.
//!   Deltas that name the index of another step belong to the last open call: the service writes such ones. The call's
//!   signature is sealed with the call;
//! - any other step is one that Gemini ran itself (`google_search_call`, `code_execution_result`, `mcp_server_tool_call`
//!   and the like), or a kind that is newer than this decoder. Each is a `CUSTOM` event named `provider_item` when it
//!   starts and when it stops, with the step as its value. The complete step is sealed in an assistant message without
//!   text, at its place;
//! - `interaction.completed` ends the answer. `RUN_FINISHED` carries the token usage, and the interaction's status as
//!   `stopReason` in its metadata. The statuses `failed` and `cancelled`, and an `error` event, are a `RUN_ERROR`. If
//!   the body ends without `interaction.completed`, the last `interaction.status_update` decides. `[DONE]` ends a body, not
//!   an answer.
//!
//! With [`Resumption::Background`](crate::provider::Resumption::Background) the answer is made in the background:
//! `GET /interactions/ID?stream=true&last_event_id=ID` streams the events after one, `GET /interactions/ID` returns the
//! interaction as it is, and `POST /interactions/ID/cancel` stops it. The ids of events are opaque.
//!
//! Requests have the complete conversation as steps, so `previous_interaction_id` is not used. They cannot express: cache
//! markers, whether calls may be parallel, and the name and the strictness of a schema.

mod content;
mod decode;
mod encode;
mod event;
mod input;
mod kept;
mod step;
mod steps;
mod stored;
mod usage;

pub(super) use decode::Decoder;
pub(super) use encode::Encoder;
