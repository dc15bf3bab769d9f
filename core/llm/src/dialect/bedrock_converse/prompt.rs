//! The conversation in the format of Converse: instructions, and turns of two roles.

use super::super::anthropic::{Mark, SealedThinking};
use super::super::encoding::{Exchange, Failure, arguments, exchanges, result_text};
use super::super::{ModelRequest, sealed};
use super::block::{Block, Input, Reasoning};
use super::content;
use super::family::Family;
use super::marked::{self, Marked};
use crate::event::{
    ContentPart, Message, MessageContent, ReasoningMessage, ToolCall, ToolMessage, UserMessage,
};
use crate::provider::Dialect;
use serde::Serialize;
use std::collections::BTreeSet;

/// The text of a result without content, which is refused.
const NO_OUTPUT: &str = "(no output)";

/// The text that a message with documents must have.
const ATTACHED: &str = "(See the attached documents.)";

/// The prompt without the tools. Fields are borrowed where possible, because attachments can be large.
#[derive(Debug)]
pub(super) struct Prompt<'a> {
    pub(super) system: Vec<Marked<Block<'a>>>,
    pub(super) turns: Vec<Turn<'a>>,
    family: Family,
    documents: usize,
}

/// The consecutive messages of one role.
#[derive(Debug, Serialize)]
pub(super) struct Turn<'a> {
    role: Role,
    #[serde(serialize_with = "marked::serialize")]
    pub(super) content: Vec<Marked<Block<'a>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Assistant,
}

impl<'a> Prompt<'a> {
    pub(super) fn new(request: &ModelRequest<'a>, family: Family) -> Self {
        let provider = request.endpoint.provider.as_str();
        let mut prompt = Self {
            system: Vec::new(),
            turns: Vec::new(),
            family,
            documents: 0,
        };
        let own = request.instructions.and_then(Block::text);
        prompt.system.extend(own.map(Marked::from));
        for exchange in exchanges(request.messages) {
            match exchange {
                // The format has one place for all instructions.
                Exchange::Developer(message) | Exchange::System(message) => {
                    let mark = Mark::of_message(message.metadata.as_ref());
                    let block = Block::text(message.content.as_str());
                    let block = block.map(|item| Marked { item, mark });
                    prompt.system.extend(block);
                }
                Exchange::User(message) => {
                    let blocks = prompt.user(message);
                    prompt.say(Role::User, blocks);
                }
                Exchange::Results(results) => {
                    let results = results.into_iter();
                    let results = results.map(|message| prompt.result(message)).collect();
                    prompt.answer(results);
                }
                Exchange::Answer(messages) => {
                    for message in messages {
                        prompt.say(Role::Assistant, assistant(message, provider));
                    }
                }
            }
        }
        prompt.name_documents();
        prompt
    }

    fn user(&mut self, message: &'a UserMessage) -> Vec<Marked<Block<'a>>> {
        let mut blocks: Vec<_> = match &message.content {
            MessageContent::Text(text) => Block::text(text.as_str())
                .map(Marked::from)
                .into_iter()
                .collect(),
            MessageContent::Parts(parts) => parts
                .iter()
                .filter_map(|part| {
                    let item = content::block(part, &mut self.documents)?;
                    let mark = mark_of(part);
                    Some(Marked { item, mark })
                })
                .collect(),
        };
        mark_last(&mut blocks, Mark::of_message(message.metadata.as_ref()));
        blocks
    }

    fn result(&mut self, message: &'a ToolMessage) -> Marked<Block<'a>> {
        let is_error = message.error.is_some();
        let failure = match self.family.marks_errors() {
            true => Failure::of(message, |_| false).map(Failure::into_words),
            false => is_error.then(|| result_text(message, |_| false)),
        };
        let mut content: Vec<_> = match (failure, &message.content) {
            (Some(failure), _) => Block::text(failure).into_iter().collect(),
            (None, MessageContent::Text(text)) => Block::text(text.as_str()).into_iter().collect(),
            (None, MessageContent::Parts(parts)) => parts
                .iter()
                .filter_map(|part| content::block(part, &mut self.documents))
                .collect(),
        };
        if content.is_empty() {
            content.push(Block::Text(NO_OUTPUT.into()));
        }
        let item = Block::ToolResult {
            tool_use_id: &message.tool_call_id,
            content,
            status: (is_error && self.family.marks_errors()).then_some("error"),
        };
        let mark = Mark::of_message(message.metadata.as_ref());
        Marked { item, mark }
    }

    /// Adds blocks to the role's turn, which begins if it is the other's.
    fn say(&mut self, role: Role, blocks: Vec<Marked<Block<'a>>>) {
        if blocks.is_empty() {
            return;
        }
        match self.turns.last_mut() {
            Some(turn) if turn.role == role => turn.content.extend(blocks),
            _ => self.turns.push(Turn {
                role,
                content: blocks,
            }),
        }
    }

    /// Adds results: in front of anything else that the user's turn says.
    fn answer(&mut self, results: Vec<Marked<Block<'a>>>) {
        match self.turns.last_mut() {
            Some(turn) if turn.role == Role::User => {
                let said = turn
                    .content
                    .iter()
                    .position(|block| !block.item.is_result());
                let at = said.unwrap_or(turn.content.len());
                turn.content.splice(at..at, results);
            }
            _ => self.say(Role::User, results),
        }
    }

    /// Adds a text to each turn with documents that has none: such a message is refused.
    fn name_documents(&mut self) {
        for turn in &mut self.turns {
            let items = || turn.content.iter().map(|block| &block.item);
            if items().any(|block| matches!(block, Block::Document { .. }))
                && !items().any(|block| matches!(block, Block::Text(_)))
            {
                turn.content.push(Block::Text(ATTACHED.into()).into());
            }
        }
    }

    /// The names of the tools that were called, each once.
    pub(super) fn called(&self) -> Vec<&'a str> {
        let mut names = Vec::new();
        let mut known = BTreeSet::new();
        for block in self.turns.iter().flat_map(|turn| &turn.content) {
            if let Block::ToolUse { name, .. } = &block.item
                && known.insert(*name)
            {
                names.push(*name);
            }
        }
        names
    }

    /// Returns the index of the model's last turn: the answers to the user's last message, with their results.
    fn last_said(&self) -> usize {
        let is_said = |turn: &Turn<'_>| {
            let mut items = turn.content.iter().map(|block| &block.item);
            turn.role == Role::User && !items.any(Block::is_result)
        };
        self.turns.iter().rposition(is_said).map_or(0, |at| at + 1)
    }

    /// Returns whether a turn of tools is in progress that began without reasoning, so that Claude must continue without.
    pub(super) fn continues_without_reasoning(&self) -> bool {
        let first = self.turns.get(self.last_said());
        let first = first.and_then(|turn| turn.content.first());
        first.is_some_and(|block| !block.item.is_reasoning())
    }

    /// Removes the reasoning from the turn in progress, for a request without: Claude refuses it there.
    pub(super) fn forget_reasoning(&mut self) {
        let since = self.last_said();
        for turn in self.turns.iter_mut().skip(since) {
            if !turn.content.iter().all(|block| block.item.is_reasoning()) {
                turn.content.retain(|block| !block.item.is_reasoning());
            }
        }
    }
}

fn assistant<'a>(message: &'a Message, provider: &str) -> Vec<Marked<Block<'a>>> {
    match message {
        Message::Reasoning(message) => {
            let block = reasoning(message, provider);
            block.map(Marked::from).into_iter().collect()
        }
        Message::Assistant(message) => {
            let text = message.content.as_deref().and_then(Block::text);
            let calls = message.tool_calls.iter().map(tool_use);
            let mut blocks: Vec<_> = text.into_iter().chain(calls).map(Marked::from).collect();
            mark_last(&mut blocks, Mark::of_message(message.metadata.as_ref()));
            blocks
        }
        _ => Vec::new(),
    }
}

fn tool_use(call: &ToolCall) -> Block<'_> {
    Block::ToolUse {
        tool_use_id: &call.id,
        name: &call.function.name,
        input: Input(arguments(&call.function.arguments)),
    }
}

/// Reasoning without its signature is left out: Claude refuses it, and the other models do not want it back.
fn reasoning<'a>(message: &'a ReasoningMessage, provider: &str) -> Option<Block<'a>> {
    let value = message.encrypted_value.as_deref();
    let sealed = sealed::open(value, provider, Dialect::BedrockConverse)?;
    Some(Block::ReasoningContent(match sealed {
        SealedThinking::Signature(signature) => Reasoning::ReasoningText {
            text: &message.content,
            signature,
        },
        SealedThinking::Redacted(data) => Reasoning::RedactedContent(data),
    }))
}

fn mark_of(part: &ContentPart) -> Option<Mark> {
    let metadata = match part {
        ContentPart::Text(part) => part.metadata.as_ref(),
        other => other.media()?.1.metadata.as_ref(),
    };
    Mark::of_part(metadata)
}

fn mark_last(blocks: &mut [Marked<Block<'_>>], mark: Option<Mark>) {
    if mark.is_some()
        && let Some(block) = blocks.iter_mut().rfind(|block| block.item.takes_mark())
    {
        block.mark = mark;
    }
}
