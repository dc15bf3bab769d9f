use super::json::{reasoning_message, tool_call_result};
use super::parts::{
    ArgumentsChange, EncryptedValueSubtype, EventCommon, Interrupt, SteeringRefusal,
    TextMessageRole, ToolCallStatus, ToolResult,
};
use crate::effect::CallKey;
use crate::hook::HookMoment;
use crate::json_value::JsonValue;
use crate::outcome::Outcome;
use crate::time::Duration;
use serde::Serialize;

/// What the user is shown of a turn. From `Started` to `Completed` it is one unbroken turn, however many hops it
/// takes.
///
/// Beside the events of the turn itself these are the AG-UI events of its streams, with AG-UI's names: text, reasoning,
/// tool calls, state and the rest. In JSON those are written as AG-UI has them, and so is what has more there than here.
// The pieces of text stand first since readers of this enum in some languages try one variant after the other.
#[derive(Clone, Debug, PartialEq, Serialize, uniffi::Enum)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Event {
    /// A piece of a text message. Neighbouring pieces of one message come as one.
    #[serde(rename = "TEXT_MESSAGE_CONTENT")]
    TextMessageContent {
        /// The message.
        message_id: String,
        /// The piece.
        delta: String,
    },
    /// A piece of a tool call's arguments.
    #[serde(rename = "TOOL_CALL_ARGS")]
    ToolCallArgs {
        /// The call.
        tool_call_id: String,
        /// A piece of JSON text.
        delta: String,
    },
    /// A piece of a reasoning message.
    #[serde(rename = "REASONING_MESSAGE_CONTENT")]
    ReasoningMessageContent {
        /// The message.
        message_id: String,
        /// The piece.
        delta: String,
    },
    /// The turn begins.
    Started {
        /// The conversation.
        thread_id: String,
        /// The turn: the run id of its first hop.
        run_id: String,
    },
    /// The turn goes on with another stream. Nothing to show; for logs.
    HopStarted {
        /// The hop, from 1.
        hop: u32,
        /// The hop's own run.
        run_id: String,
    },
    /// A tool call moved on.
    ToolCallUpdate {
        /// Its place in the run.
        call: CallKey,
        /// The provider's id for it.
        tool_call_id: String,
        /// The tool.
        name: String,
        /// Where it stands.
        status: ToolCallStatus,
        /// What came of it, once it is done.
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<ToolResult>,
    },
    /// What new pieces of a tool call's arguments say, parsed; only with `RunConfig.partial_arguments`. Applied in order,
    /// beginning with `null`, the changes make the value of what came so far. A change of the whole (path `""`) begins
    /// anew.
    PartialArguments {
        /// The call's place in the run.
        call: CallKey,
        /// The provider's id for it.
        tool_call_id: String,
        /// What changed, in order.
        changes: Vec<ArgumentsChange>,
        /// Why the arguments are read no further, once they are not: they are no JSON. What was said stays, and the
        /// call goes its own way.
        #[serde(skip_serializing_if = "Option::is_none")]
        stopped: Option<String>,
    },
    /// A request failed, and is tried again.
    Retrying {
        /// The try that is to come, from 1.
        attempt: u32,
        /// How long until then.
        #[serde(rename = "delayMs")]
        delay: Duration,
        /// Why.
        reason: String,
    },
    /// The agent asks the user; the turn rests until it is resumed.
    Interrupted {
        /// The questions.
        interrupts: Vec<Interrupt>,
    },
    /// An answer came to an effect that is no longer pending. It changed nothing.
    AnswerDropped {
        /// The effect's id.
        effect: String,
    },
    /// Something odd that did not stop the turn.
    Warning {
        /// What.
        message: String,
    },
    /// The turn is over.
    Completed {
        /// How it ended.
        outcome: Outcome,
    },
    /// The stream had something for a tool call that never began, or has ended. It was dropped, and the stream goes on.
    UnknownToolCall {
        /// The provider's id for the call.
        tool_call_id: String,
    },
    /// What the user typed during the turn is in the conversation now, and this hop answers it.
    SteeringTaken {
        /// The message.
        message_id: String,
        /// The hop.
        hop: u32,
    },
    /// What the user typed during the turn was not taken, and is given back: for the input field, say. It may come
    /// after the end of the turn.
    SteeringRefused {
        /// The message, whole: an AG-UI message in JSON.
        message: JsonValue,
        /// Why.
        reason: SteeringRefusal,
        /// The same in a sentence.
        explanation: String,
    },
    /// There is no network: the next request waits for it.
    WaitingForNetwork {
        /// How long at most.
        #[serde(rename = "upToMs")]
        up_to: Duration,
    },
    /// A stream that broke off is open again: what follows goes on where it stopped.
    StreamResumed {
        /// The hop.
        hop: u32,
        /// The try, from 1.
        attempt: u32,
    },
    /// The conversation nearly fills the model's context window; said once a turn. The model is told too.
    ContextNearlyFull {
        /// How many tokens the request has, as far as can be told.
        tokens: u64,
        /// How many it may have: the model's window, without what is kept for the answer.
        window: u64,
    },
    /// The turn goes on without some messages, which did not fit the model's context window. The history has them.
    ContextTrimmed {
        /// The messages that the requests do not carry any more.
        left_out: Vec<String>,
        /// How many tokens the request has now, as far as can be told.
        tokens: u64,
    },
    /// What new pieces of the typed answer say, parsed while it streams. Applied in order, beginning with `null`, the
    /// changes make the value of what came so far; each is final. An answer that is asked for again begins again, with an
    /// `Add` of the whole (path `""`). Nothing of it is checked yet.
    PartialOutput {
        /// The hop whose answer it is.
        hop: u32,
        /// What changed, in order. May be empty if there is a `stopped`.
        changes: Vec<ArgumentsChange>,
        /// Why the answer is read no further while it streams, once it is not: it is no JSON.
        #[serde(skip_serializing_if = "Option::is_none")]
        stopped: Option<String>,
    },
    /// The typed answer does not fit: the model is told why, and asked again.
    OutputRefused {
        /// What does not fit, and where.
        reason: String,
        /// How often it may still be asked after this time.
        retries_left: u32,
        /// What the model is told, where the answer was no call of the final tool: an AG-UI user message of the app's, with
        /// `correction` in its metadata, which the history has from now on.
        #[serde(skip_serializing_if = "Option::is_none")]
        correction: Option<JsonValue>,
    },
    /// A hook of the app's has refused, or failed.
    HookRefused {
        /// The hook's name.
        hook: String,
        /// When.
        moment: HookMoment,
        /// The hook's words.
        reason: String,
        /// The provider's id for the call, where the hook was asked about one.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_call_id: Option<String>,
    },
    /// A running tool says how far it has come.
    ToolProgress {
        /// The call's place in the run.
        call: CallKey,
        /// The provider's id for it.
        tool_call_id: String,
        /// The tool.
        name: String,
        /// How much is done, from 0 to 1, if the tool knows.
        #[serde(skip_serializing_if = "Option::is_none")]
        fraction: Option<f64>,
        /// What it does now.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// A running tool shows what it has so far, in the place of what it showed before.
    ToolPartialResult {
        /// The call's place in the run.
        call: CallKey,
        /// The provider's id for it.
        tool_call_id: String,
        /// The tool.
        name: String,
        /// The text of the result so far.
        content: String,
        /// The whole of it where it is more than text: a JSON array of content parts.
        #[serde(skip_serializing_if = "Option::is_none")]
        parts: Option<JsonValue>,
    },
    /// A text message begins, or goes on after its end.
    #[serde(rename = "TEXT_MESSAGE_START")]
    TextMessageStart {
        /// The message.
        message_id: String,
        /// Who speaks; absent is the assistant.
        #[serde(skip_serializing_if = "Option::is_none")]
        role: Option<TextMessageRole>,
        /// Who of several speaks.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// What any event may carry; absent where it carries nothing of it.
        #[serde(flatten)]
        common: Option<EventCommon>,
    },
    /// A text message is whole.
    #[serde(rename = "TEXT_MESSAGE_END")]
    TextMessageEnd {
        /// The message.
        message_id: String,
        /// What any event may carry; absent where it carries nothing of it.
        #[serde(flatten)]
        common: Option<EventCommon>,
    },
    /// A tool call begins.
    #[serde(rename = "TOOL_CALL_START")]
    ToolCallStart {
        /// The call.
        tool_call_id: String,
        /// The tool.
        tool_call_name: String,
        /// The assistant message that the call belongs to.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_message_id: Option<String>,
        /// What any event may carry; absent where it carries nothing of it.
        #[serde(flatten)]
        common: Option<EventCommon>,
    },
    /// A tool call's arguments are whole.
    #[serde(rename = "TOOL_CALL_END")]
    ToolCallEnd {
        /// The call.
        tool_call_id: String,
        /// What any event may carry; absent where it carries nothing of it.
        #[serde(flatten)]
        common: Option<EventCommon>,
    },
    /// A tool call was answered by the agent itself.
    #[serde(rename = "TOOL_CALL_RESULT", serialize_with = "tool_call_result")]
    ToolCallResult {
        /// The tool message that holds the answer.
        message_id: String,
        /// The call.
        tool_call_id: String,
        /// The text of the answer.
        content: String,
        /// The whole answer where it is more than text: a JSON array of content parts.
        parts: Option<JsonValue>,
        /// What any event may carry; absent where it carries nothing of it.
        common: Option<EventCommon>,
    },
    /// A step of the agent begins.
    #[serde(rename = "STEP_STARTED")]
    StepStarted {
        /// The step.
        step_name: String,
        /// What any event may carry; absent where it carries nothing of it.
        #[serde(flatten)]
        common: Option<EventCommon>,
    },
    /// A step of the agent ended.
    #[serde(rename = "STEP_FINISHED")]
    StepFinished {
        /// The step.
        step_name: String,
        /// What any event may carry; absent where it carries nothing of it.
        #[serde(flatten)]
        common: Option<EventCommon>,
    },
    /// The shared state, whole.
    #[serde(rename = "STATE_SNAPSHOT")]
    StateSnapshot {
        /// The state: any JSON.
        snapshot: JsonValue,
        /// What any event may carry; absent where it carries nothing of it.
        #[serde(flatten)]
        common: Option<EventCommon>,
    },
    /// A change of the shared state.
    #[serde(rename = "STATE_DELTA")]
    StateDelta {
        /// The change: a JSON array of operations of JSON Patch (RFC 6902).
        delta: JsonValue,
        /// What any event may carry; absent where it carries nothing of it.
        #[serde(flatten)]
        common: Option<EventCommon>,
    },
    /// The conversation, whole.
    #[serde(rename = "MESSAGES_SNAPSHOT")]
    MessagesSnapshot {
        /// The messages: a JSON array.
        messages: JsonValue,
        /// What any event may carry; absent where it carries nothing of it.
        #[serde(flatten)]
        common: Option<EventCommon>,
    },
    /// An activity, whole.
    #[serde(rename = "ACTIVITY_SNAPSHOT")]
    ActivitySnapshot {
        /// The activity message.
        message_id: String,
        /// The kind of activity.
        activity_type: String,
        /// What to show: a JSON object.
        content: JsonValue,
        /// Whether an earlier one is replaced; absent is yes.
        #[serde(skip_serializing_if = "Option::is_none")]
        replace: Option<bool>,
        /// What any event may carry; absent where it carries nothing of it.
        #[serde(flatten)]
        common: Option<EventCommon>,
    },
    /// A change of an activity.
    #[serde(rename = "ACTIVITY_DELTA")]
    ActivityDelta {
        /// The activity message.
        message_id: String,
        /// The kind of activity.
        activity_type: String,
        /// The change: a JSON array of operations of JSON Patch (RFC 6902).
        patch: JsonValue,
        /// What any event may carry; absent where it carries nothing of it.
        #[serde(flatten)]
        common: Option<EventCommon>,
    },
    /// The model begins to think.
    #[serde(rename = "REASONING_START")]
    ReasoningStart {
        /// The span of thinking.
        message_id: String,
        /// What any event may carry; absent where it carries nothing of it.
        #[serde(flatten)]
        common: Option<EventCommon>,
    },
    /// The model stops thinking.
    #[serde(rename = "REASONING_END")]
    ReasoningEnd {
        /// The span of thinking.
        message_id: String,
        /// What any event may carry; absent where it carries nothing of it.
        #[serde(flatten)]
        common: Option<EventCommon>,
    },
    /// A reasoning message begins, or goes on after its end.
    #[serde(
        rename = "REASONING_MESSAGE_START",
        serialize_with = "reasoning_message"
    )]
    ReasoningMessageStart {
        /// The message.
        message_id: String,
        /// What any event may carry; absent where it carries nothing of it.
        common: Option<EventCommon>,
    },
    /// A reasoning message is whole.
    #[serde(rename = "REASONING_MESSAGE_END")]
    ReasoningMessageEnd {
        /// The message.
        message_id: String,
        /// What any event may carry; absent where it carries nothing of it.
        #[serde(flatten)]
        common: Option<EventCommon>,
    },
    /// What the provider wants back unchanged with a message or a tool call.
    #[serde(rename = "REASONING_ENCRYPTED_VALUE")]
    ReasoningEncryptedValue {
        /// What it belongs to.
        subtype: EncryptedValueSubtype,
        /// The id of the message or tool call.
        entity_id: String,
        /// The value.
        encrypted_value: String,
        /// What any event may carry; absent where it carries nothing of it.
        #[serde(flatten)]
        common: Option<EventCommon>,
    },
    /// A subagent begins.
    #[serde(rename = "SUBAGENT_STARTED")]
    SubagentStarted {
        /// The subagent's run.
        subagent_run_id: String,
        /// Its name.
        name: String,
        /// What it is for.
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// The subagent that started it.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_subagent_run_id: Option<String>,
        /// The tool call that started it.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_tool_call_id: Option<String>,
        /// The message that started it.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_message_id: Option<String>,
        /// What any event may carry; absent where it carries nothing of it.
        #[serde(flatten)]
        common: Option<EventCommon>,
    },
    /// A subagent ended as it should.
    #[serde(rename = "SUBAGENT_FINISHED")]
    SubagentFinished {
        /// The subagent's run.
        subagent_run_id: String,
        /// What it gives back: any JSON.
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<JsonValue>,
        /// How it ended: a JSON object; absent is success.
        #[serde(skip_serializing_if = "Option::is_none")]
        outcome: Option<JsonValue>,
        /// What any event may carry; absent where it carries nothing of it.
        #[serde(flatten)]
        common: Option<EventCommon>,
    },
    /// A subagent failed.
    #[serde(rename = "SUBAGENT_ERROR")]
    SubagentError {
        /// The subagent's run.
        subagent_run_id: String,
        /// What went wrong.
        message: String,
        /// The agent's code for it.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        /// What any event may carry; absent where it carries nothing of it.
        #[serde(flatten)]
        common: Option<EventCommon>,
    },
    /// A provider's own event, passed through.
    #[serde(rename = "RAW")]
    Raw {
        /// The event: any JSON.
        event: JsonValue,
        /// Where it is from.
        #[serde(skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        /// What any event may carry; absent where it carries nothing of it.
        #[serde(flatten)]
        common: Option<EventCommon>,
    },
    /// An event that agent and app agreed on.
    #[serde(rename = "CUSTOM")]
    Custom {
        /// Its name.
        name: String,
        /// Its value: any JSON.
        value: JsonValue,
        /// What any event may carry; absent where it carries nothing of it.
        #[serde(flatten)]
        common: Option<EventCommon>,
    },
    /// An event of a type that this version does not know, kept as it came.
    #[serde(skip)]
    Unknown {
        /// Its `type`.
        kind: String,
        /// All of it: a JSON object.
        event: JsonValue,
    },
}
