//! OpenAI's Responses, and the gateways that speak it too.
//!
//! Sources: <https://platform.openai.com/docs/api-reference/responses> and
//! <https://platform.openai.com/docs/api-reference/responses-streaming>.
//!
//! An answer is a list of output items. The mapping of a stream to events:
//! - a `message` item is an assistant message of its own, with the item's `phase` in its metadata. A refusal is a
//!   `CUSTOM` event named `refusal` for each delta, and its complete text is the message's metadata `refusal`, so that
//!   it is sent back with the next request. An annotation is a `CUSTOM` event named `citation`;
//! - a `reasoning` item is a reasoning message. The parts of its summary are separated by a blank line. The complete
//!   item is sealed as the message's encrypted value, for the next request;
//! - a `function_call` item is a call, with its `call_id` as the call's id;
//! - a `custom_tool_call` item, whose input is free text, is a call with the arguments `{"input": "the text"}`. It is
//!   sealed as such an item, and is sent back with the raw text;
//! - any other item is one that the provider runs or made itself (`web_search_call`, `file_search_call`,
//!   `code_interpreter_call`, `image_generation_call`, `mcp_call`, `mcp_list_tools`, `compaction` and the like) or that
//!   is for the app to answer (`mcp_approval_request`, `computer_call`). Each is a `CUSTOM` event named `provider_item`
//!   when it is added and when it is done, with the item as its value. A picture that was made is an activity of its
//!   own, and not in that value. Items for the next request are sealed in an assistant message without text, at their
//!   place. The events of their progress are not read;
//! - `RUN_FINISHED` carries the token usage, and as `stopReason` in its metadata the reason why the answer is
//!   incomplete, or its status;
//! - an `error` event, `response.failed` and `response.cancelled` are a `RUN_ERROR`, and nothing after them is read.
//!
//! Items are distinguished by `output_index`: gateways change their ids between events. The event that ends a part or
//! an item is authoritative: content that no delta has brought is emitted then, and never twice. If the deltas differ,
//! a `CUSTOM` event with the name [`REPLACED`](crate::event::REPLACED) has the valid content, and there is a warning.
//! Text after the end of its item is shown, with a warning; arguments after it are left out.
//!
//! With [`Resumption::Background`](crate::provider::Resumption::Background) the answer is made in the background
//! (<https://platform.openai.com/docs/guides/background>): `GET /responses/ID?stream=true&starting_after=NUMBER` streams the
//! events after one, for some minutes; `GET /responses/ID` returns the answer as it is, and `POST /responses/ID/cancel` stops it.
//!
//! Calls of custom tools that xAI marks as its own are items of the provider. So are those of tools that the last event
//! does not list, if it lists some that the provider runs: such calls have begun, and get a result that says so.

mod compaction;
mod decode;
mod encode;
mod event;
mod input;
mod item;
mod items;
mod parts;
mod stored;
mod usage;

pub(super) use compaction::{holds_compaction, without_compaction};
pub(super) use decode::Decoder;
pub(super) use encode::Encoder;
