//! Stepwell for the web: the sans-IO API as WebAssembly, with TypeScript's types. The app owns `fetch`, the tools, the
//! clock and the store.
//!
//! Names and values are those of the core in JavaScript's spelling: `maxToolRounds`, `executingTools`. AG-UI's messages
//! and events are those of the protocol, unchanged. The types stand in `shapes.d.ts`, which is generated, and beside it in
//! `types.d.ts`; the package's own holds both.

// What is private here is public in JavaScript, and documented in TypeScript.
#![allow(missing_docs)]

mod error;
mod inputs;
mod machine;
mod registry;

pub use machine::RunMachine;
pub use registry::RunRegistry;

use error::Thrown;
use serde::Serialize;
use serde::de::DeserializeOwned;
use stepwell_core::event::Message;
use stepwell_core::session::title;
use stepwell_json::{NewPart, Overflow, StoredTurns};
use wasm_bindgen::prelude::*;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = include_str!("types.d.ts");

#[wasm_bindgen(typescript_custom_section)]
const SHAPES: &str = include_str!("shapes.d.ts");

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(typescript_type = "RunConfig")]
    pub type RunConfigValue;
    #[wasm_bindgen(typescript_type = "Start")]
    pub type StartValue;
    #[wasm_bindgen(typescript_type = "Outputs")]
    pub type OutputsValue;
    #[wasm_bindgen(typescript_type = "Message[]")]
    pub type MessagesValue;
    #[wasm_bindgen(typescript_type = "Message")]
    pub type MessageValue;
    #[wasm_bindgen(typescript_type = "ResumeEntry[]")]
    pub type AnswersValue;
    #[wasm_bindgen(typescript_type = "Outcome | undefined")]
    pub type OutcomeValue;
    #[wasm_bindgen(typescript_type = "Interrupt[]")]
    pub type InterruptsValue;
    #[wasm_bindgen(typescript_type = "TokenUsage")]
    pub type UsageValue;
    #[wasm_bindgen(typescript_type = "string | Json[]")]
    pub type ContentValue;
    #[wasm_bindgen(typescript_type = "Question")]
    pub type QuestionValue;
    #[wasm_bindgen(typescript_type = "HookAnswer")]
    pub type HookAnswerValue;
    #[wasm_bindgen(typescript_type = "Outcome")]
    pub type EndValue;
    #[wasm_bindgen(typescript_type = "ThreadKey | string")]
    pub type ThreadValue;
    #[wasm_bindgen(typescript_type = "ThreadKey")]
    pub type ThreadKeyValue;
    #[wasm_bindgen(typescript_type = "ThreadKey[]")]
    pub type ThreadKeysValue;
    #[wasm_bindgen(typescript_type = "RunHandle")]
    pub type HandleValue;
    #[wasm_bindgen(typescript_type = "RunHandle[]")]
    pub type HandlesValue;
    #[wasm_bindgen(typescript_type = "Registered")]
    pub type RegisteredValue;
    #[wasm_bindgen(typescript_type = "RegistryEvent[]")]
    pub type RegistryEventsValue;
    #[wasm_bindgen(typescript_type = "TurnRecord[]")]
    pub type TurnsValue;
    #[wasm_bindgen(typescript_type = "{ messages: Message[]; sharedState: Json }")]
    pub type HistoryValue;
    #[wasm_bindgen(
        typescript_type = "{ tokens: number; window: number; messages: ContextMessage[] }"
    )]
    pub type OverflowValue;
    #[wasm_bindgen(
        typescript_type = "{ kind?: MediaKind; url?: string; file?: string; provider?: string; mediaType?: string; name?: string }"
    )]
    pub type NewPartValue;
    #[wasm_bindgen(typescript_type = "Part")]
    pub type PartValue;
    #[wasm_bindgen(typescript_type = "CallKey")]
    pub type CallKeyValue;
    #[wasm_bindgen(typescript_type = "StateKind")]
    pub type StateValue;
    #[wasm_bindgen(typescript_type = "Json")]
    pub type JsonValue;
    #[wasm_bindgen(typescript_type = "{ [name: string]: string }")]
    pub type HeadersValue;
    #[wasm_bindgen(typescript_type = "ToolFailureKind")]
    pub type FailureKindValue;
}

/// The version of the library, such as `0.1.0`.
#[wasm_bindgen]
#[must_use]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// The conversation of stored turns, for the next run to begin with: of all turns of a thread, or of a path of it. `turn`
/// is the end of the path; without it, it is the turn that ends last.
#[wasm_bindgen(js_name = conversationOf)]
pub fn conversation_of(turns: &TurnsValue, turn: Option<String>) -> Result<HistoryValue, JsValue> {
    let turns = from_js("the turns", turns)?;
    let history = StoredTurns { turns, turn }.history();
    Ok(to_js(&history.map_err(Thrown::from)?).unchecked_into())
}

/// What a thread is called: the user's first words, in one line; empty if they are no words.
#[wasm_bindgen(js_name = titleOf)]
pub fn title_of(messages: &MessagesValue) -> Result<String, JsValue> {
    let messages: Vec<Message> = from_js("the messages", messages)?;
    Ok(title(&messages))
}

/// The ids of the newest messages of a conversation that fill no more than this part of the model's window: half of it (0.5)
/// leaves room to go on for a while. For `contextTrimmed`; what is given is the effect `trimContext`, or its fields.
#[wasm_bindgen(js_name = newestMessages)]
pub fn newest_messages(overflow: &OverflowValue, part: f64) -> Result<Vec<String>, JsValue> {
    let overflow: Overflow = from_js("the overflow", overflow)?;
    Ok(overflow.newest(part))
}

/// A content part of media: of the bytes, or of what `of` names.
// wasm-bindgen gives arrays away.
#[allow(clippy::needless_pass_by_value)]
#[wasm_bindgen(js_name = mediaPart)]
pub fn media_part(of: &NewPartValue, bytes: Option<Vec<u8>>) -> Result<PartValue, JsValue> {
    let of: NewPart = from_js("the part", of)?;
    let part = of.part(bytes.as_deref());
    Ok(to_js(&part.map_err(Thrown::from)?).unchecked_into())
}

/// How a turn ends that its store did not take.
#[wasm_bindgen(js_name = notStored)]
#[must_use]
pub fn not_stored(message: String) -> EndValue {
    to_js(&stepwell_json::not_stored(message)).unchecked_into()
}

/// How a turn ends whose instructions could not be made.
#[wasm_bindgen(js_name = noInstructions)]
#[must_use]
pub fn no_instructions(message: String) -> EndValue {
    to_js(&stepwell_json::no_instructions(message)).unchecked_into()
}

/// What JavaScript gives, by way of JSON: it has no other values than these here.
fn from_js<T: DeserializeOwned>(what: &str, value: &JsValue) -> Result<T, Thrown> {
    let text = js_sys::JSON::stringify(value)
        .ok()
        .and_then(|text| text.as_string());
    let text = text.ok_or_else(|| Thrown::argument(what, "it cannot be written as JSON"))?;
    Ok(stepwell_json::read(what, &text)?)
}

/// What JavaScript is given.
fn to_js(value: &impl Serialize) -> JsValue {
    let text = serde_json::to_string(value).unwrap_or_default();
    js_sys::JSON::parse(&text).unwrap_or(JsValue::UNDEFINED)
}
