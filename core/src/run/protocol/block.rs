use super::call::Decision;
use super::question::{Question, UserAnswer};
use crate::event::{Message, MessageContent, Metadata, ResumeEntry, TokenUsage};
use crate::tool::ToolFailure;
use crate::{CallKey, MessageId, ToolCallId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One finished piece of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct Block {
    /// Its number in the turn: 0, 1, 2 … without a gap, and none is ever used for two contents.
    pub sequence: u64,
    /// The hop it belongs to.
    pub hop: u32,
    /// What it holds.
    pub content: BlockContent,
}

/// What a block holds. The blocks of a turn, in sequence, give the turn's part of the history back: see
/// [`MessageBuilder`](crate::session::MessageBuilder).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum BlockContent {
    /// A piece of an answer's text; of a message that is not there yet, its beginning.
    Text {
        /// The message.
        message_id: MessageId,
        /// The text.
        text: String,
        /// What is attached to the message, where that is new.
        #[serde(flatten)]
        attached: Attached,
    },
    /// A piece of reasoning.
    Reasoning {
        /// The message.
        message_id: MessageId,
        /// The text.
        text: String,
        /// What is attached to the message, where that is new.
        #[serde(flatten)]
        attached: Attached,
    },
    /// A tool call.
    ToolUse {
        /// Its place in the run.
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
        /// What the user is shown of it, if the tool has a label for these arguments.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// What the provider wants back with the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        encrypted_value: Option<String>,
        /// What the sender attached to the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<Metadata>,
    },
    /// The hooks have let a call pass, before what follows from that.
    HooksPassed {
        /// The call.
        call: CallKey,
        /// What they have put in the place of the model's arguments.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<String>,
    },
    /// What the user said to a call that asked to run.
    Approval {
        /// The call.
        call: CallKey,
        /// What they said.
        decision: Decision,
    },
    /// The result of a tool call will come later.
    Deferred {
        /// The call.
        call: CallKey,
    },
    /// What the user said to a running tool's question, before the tool is told.
    Answer {
        /// The call.
        call: CallKey,
        /// The question's place among those of the call, from 0.
        number: u32,
        /// The question.
        question: Question,
        /// What they said.
        answer: UserAnswer,
    },
    /// What came of a tool call. In the order of finishing; the history has them in the order of the calls.
    ToolResult {
        /// The call.
        call: CallKey,
        /// The provider's id for it.
        tool_call_id: ToolCallId,
        /// What the model is shown.
        content: MessageContent,
        /// Whether it is an error.
        is_error: bool,
        /// The message that holds it in the history.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<MessageId>,
        /// Why the call failed, if it failed here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<ToolFailure>,
        /// What an agent attached to a result of its own.
        #[serde(flatten)]
        attached: Attached,
    },
    /// What the user answered to an agent's questions, before what follows from it.
    Resumed {
        /// The answers.
        answers: Vec<ResumeEntry>,
    },
    /// What the user typed during the turn; the block's hop answers it.
    Steering {
        /// The message.
        message: Box<Message>,
    },
    /// A message whole, as it is now: in the place of the one with its id, or new. For what an agent may say beside
    /// its answer (an activity, words of another role, the result of an earlier call) and for what it changes later.
    Message {
        /// The message.
        message: Box<Message>,
    },
    /// An agent has put other messages in the place of those behind `after` (`MESSAGES_SNAPSHOT`): of all, if it is
    /// absent.
    Messages {
        /// The last message that stays.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<MessageId>,
        /// What comes behind it now.
        messages: Vec<Message>,
    },
    /// The state shared with an agent, as it is now.
    State {
        /// The state.
        state: Value,
    },
    /// What the hop's stream cost, one entry a model; none if a later hop of a turn does not say.
    Usage {
        /// The counts.
        usage: Vec<TokenUsage>,
    },
}

/// What is attached to a message beside its words.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attached {
    /// Who of several speaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What a provider wants back unchanged: a signature, or reasoning it encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encrypted_value: Option<String>,
    /// What the sender attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// The subagent that the message belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent_run_id: Option<String>,
}

impl Attached {
    /// What is attached to the model's words, to its reasoning or to a result; nothing for other messages.
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

/// Where a stored turn stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum TurnStatus {
    /// It goes on.
    Streaming,
    /// It ended as it should.
    Complete,
    /// It failed.
    Failed,
    /// It was stopped.
    Cancelled,
}
