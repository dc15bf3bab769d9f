use super::call::Decision;
use super::fallback::ModelName;
use super::problem::ErrorKind;
use super::question::{Question, UserAnswer};
use crate::event::{Message, MessageContent, Metadata, ResumeEntry, TokenUsage};
use crate::tool::ToolFailure;
use crate::transcript::Compaction;
use crate::{CallKey, MessageId, Timestamp, ToolCallId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One finished part of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct Block {
    /// The block's number in the turn: 0, 1, 2 … without a gap. No number is ever used for two contents.
    pub sequence: u64,
    /// The hop it belongs to.
    pub hop: u32,
    /// The block's content.
    pub content: BlockContent,
}

/// The content of a block. The blocks of a turn, in sequence, rebuild the turn's part of the history: see
/// [`MessageBuilder`](crate::session::MessageBuilder).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum BlockContent {
    /// A part of an answer's text; the first part begins the message.
    Text {
        /// The message.
        message_id: MessageId,
        /// The text.
        text: String,
        /// The data attached to the message, if it is new.
        #[serde(flatten)]
        attached: Attached,
    },
    /// A part of the reasoning.
    Reasoning {
        /// The message.
        message_id: MessageId,
        /// The text.
        text: String,
        /// The data attached to the message, if it is new.
        #[serde(flatten)]
        attached: Attached,
    },
    /// A tool call.
    ToolUse {
        /// The call's place in the run.
        call: CallKey,
        /// The provider's id for it.
        tool_call_id: ToolCallId,
        /// The tool.
        name: String,
        /// The arguments as the model wrote them.
        arguments: String,
        /// The message that asks for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<MessageId>,
        /// The text that the user sees for the call, if the tool has a label for these arguments.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// A value that the provider needs back with the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        encrypted_value: Option<String>,
        /// The sender's metadata of the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Metadata>,
    },
    /// The hooks have let a call pass, before what follows from that.
    HooksPassed {
        /// The call.
        call: CallKey,
        /// The arguments that the user put instead of the model's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<String>,
    },
    /// The user is asked whether a call may run. The block is stored before the user is asked.
    ApprovalAsked {
        /// The call.
        call: CallKey,
        /// The JSON Schema of the call's arguments.
        schema: Value,
        /// The time after which the turn no longer waits for the decision; absent if it waits without a limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Timestamp>,
    },
    /// The user's decision on a call that waited for approval.
    Approval {
        /// The call.
        call: CallKey,
        /// The decision.
        decision: Decision,
    },
    /// The result of a tool call will come later.
    Deferred {
        /// The call.
        call: CallKey,
        /// The time after which the turn no longer waits for the result; absent if it waits without a limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Timestamp>,
    },
    /// A running tool asks the user. The block is stored before the user is asked.
    QuestionAsked {
        /// The call.
        call: CallKey,
        /// The question's place among those of the call, from 0.
        number: u32,
        /// The question.
        question: Question,
        /// The time after which the turn no longer waits for the answer; absent if it waits without a limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Timestamp>,
    },
    /// The user's answer to a running tool's question, recorded before the tool gets it.
    Answer {
        /// The call.
        call: CallKey,
        /// The question's place among those of the call, from 0.
        number: u32,
        /// The question.
        question: Question,
        /// The answer.
        answer: UserAnswer,
    },
    /// The result of a tool call. Blocks have the results in the order of finishing, the history in the order of the
    /// calls.
    ToolResult {
        /// The call.
        call: CallKey,
        /// The provider's id for it.
        tool_call_id: ToolCallId,
        /// The result as the model gets it.
        content: MessageContent,
        /// Whether the result is an error.
        is_error: bool,
        /// The message that holds it in the history.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<MessageId>,
        /// The reason why the call failed, if it failed here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<ToolFailure>,
        /// The data that an agent attached to a result of its own.
        #[serde(flatten)]
        attached: Attached,
    },
    /// The user's answers to an agent's questions, recorded before their consequences.
    Resumed {
        /// The answers.
        answers: Vec<ResumeEntry>,
    },
    /// The message that the user typed during the turn; the block's hop answers it.
    Steering {
        /// The message.
        message: Box<Message>,
    },
    /// A complete message in its present form: it replaces the one with its id, or is new. An agent may send such
    /// messages in addition to its answer (an activity, text of another role, the result of an earlier call), and may
    /// change them later.
    Message {
        /// The message.
        message: Box<Message>,
    },
    /// An agent replaced the messages after `after` (`MESSAGES_SNAPSHOT`), or all of them if it is absent.
    Messages {
        /// The last message that stays.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<MessageId>,
        /// The messages that now follow it.
        messages: Vec<Message>,
    },
    /// Another model is asked from here on. Without such a block a turn asks its configuration's first model.
    ModelChanged {
        /// The model that is asked now.
        model: ModelName,
        /// The model before.
        previous: ModelName,
        /// The kind of failure of the model before; absent if the app chose the model, or the model before rests.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<ErrorKind>,
    },
    /// The provider makes the hop's answer in the background, and keeps it under this id.
    AnswerStored {
        /// The provider's id of the answer.
        response_id: String,
    },
    /// Requests carry less of the conversation from here on, in this turn and in those that follow it; or more, if an
    /// earlier compaction was taken away. The conversation stays complete.
    Compacted {
        /// The part that requests no longer carry as it is, instead of the part before.
        compaction: Compaction,
        /// The token usage of the requests for the summary, if a model was asked for one, even in vain.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        usage: Vec<TokenUsage>,
    },
    /// The state shared with an agent, as it is now.
    State {
        /// The state.
        state: Value,
    },
    /// The token usage of the hop's stream, one entry per model; empty if a later hop of a turn does not report it.
    Usage {
        /// The counts.
        usage: Vec<TokenUsage>,
    },
}

/// The data attached to a message in addition to its text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attached {
    /// The author's name, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A value that a provider needs back unchanged: a signature, or encrypted reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encrypted_value: Option<String>,
    /// The sender's metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// The subagent that the message belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent_run_id: Option<String>,
}

impl Attached {
    /// Returns the data attached to the model's text, to its reasoning or to a result; empty for other messages.
    pub(crate) fn of(message: &Message) -> Self {
        let (name, encrypted_value, metadata, subagent_run_id) = match message {
            Message::Assistant(message) => (
                &message.name,
                &message.encrypted_value,
                &message.metadata,
                &message.subagent_run_id,
            ),
            Message::Reasoning(message) => (
                &None,
                &message.encrypted_value,
                &message.metadata,
                &message.subagent_run_id,
            ),
            Message::Tool(message) => (
                &None,
                &message.encrypted_value,
                &message.metadata,
                &message.subagent_run_id,
            ),
            _ => return Self::default(),
        };
        Self {
            name: name.clone(),
            encrypted_value: encrypted_value.clone(),
            metadata: metadata.clone(),
            subagent_run_id: subagent_run_id.clone(),
        }
    }

    /// Attaches to the message what there is of it.
    pub(crate) fn attach(&self, message: &mut Message) {
        let (name, encrypted_value, metadata, subagent_run_id) = match message {
            Message::Assistant(message) => (
                Some(&mut message.name),
                &mut message.encrypted_value,
                &mut message.metadata,
                &mut message.subagent_run_id,
            ),
            Message::Reasoning(message) => (
                None,
                &mut message.encrypted_value,
                &mut message.metadata,
                &mut message.subagent_run_id,
            ),
            Message::Tool(message) => (
                None,
                &mut message.encrypted_value,
                &mut message.metadata,
                &mut message.subagent_run_id,
            ),
            _ => return,
        };
        fn put<T: Clone>(to: &mut Option<T>, from: &Option<T>) {
            if from.is_some() {
                to.clone_from(from);
            }
        }
        if let Some(slot) = name {
            put(slot, &self.name);
        }
        put(encrypted_value, &self.encrypted_value);
        put(metadata, &self.metadata);
        put(subagent_run_id, &self.subagent_run_id);
    }

    pub(in crate::run) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The status of a stored turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum TurnStatus {
    /// The turn is in progress.
    Streaming,
    /// The turn ended normally.
    Complete,
    /// The turn failed.
    Failed,
    /// The turn was cancelled.
    Cancelled,
}
