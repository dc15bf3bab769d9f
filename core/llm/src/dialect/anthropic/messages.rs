//! The conversation in the format of Messages: system blocks, and turns of two roles.

use super::super::encoding::{Exchange, Failure, arguments, exchanges};
use super::super::{ModelRequest, sealed};
use super::block::{Block, Input};
use super::cache::Mark;
use super::content;
use super::layout::{Container, Segment};
use super::{SealedCall, SealedThinking};
use crate::event::{
    AssistantMessage, Message, MessageContent, ReasoningMessage, ToolCall, ToolMessage, UserMessage,
};
use crate::provider::Dialect;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The prompt without the tools. Fields are borrowed where possible, because attachments can be large.
#[derive(Debug, Default)]
pub(super) struct Prompt<'a> {
    pub(super) system: Vec<Block<'a>>,
    pub(super) turns: Vec<Turn<'a>>,
    /// The container in which the provider last ran its tools.
    pub(super) container: Option<Container>,
    /// The calls of a model that declined.
    declined: BTreeSet<&'a str>,
}

/// The consecutive messages of one role.
#[derive(Debug, Serialize)]
pub(super) struct Turn<'a> {
    pub(super) role: Role,
    pub(super) content: Vec<Block<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    User,
    Assistant,
}

impl<'a> Prompt<'a> {
    pub(super) fn new(request: &ModelRequest<'a>) -> Self {
        let provider = request.endpoint.provider.as_str();
        let mut prompt = Self::default();
        prompt.system.extend(
            request
                .instructions
                .and_then(|text| Block::text(text, None)),
        );
        for exchange in exchanges(request.messages) {
            match exchange {
                // The format has one place for all instructions.
                Exchange::Developer(message) | Exchange::System(message) => {
                    let mark = Mark::of_message(message.metadata.as_ref());
                    let block = Block::text(message.content.as_str(), mark);
                    prompt.system.extend(block);
                }
                Exchange::User(message) => prompt.say(Role::User, user(message, provider)),
                Exchange::Results(results) => {
                    let results = results
                        .into_iter()
                        .filter(|result| !prompt.declined.contains(result.tool_call_id.as_str()))
                        .map(|message| result(message, provider))
                        .collect();
                    prompt.answer(results);
                }
                Exchange::Answer(messages) => {
                    for message in messages {
                        let blocks = prompt.assistant(message, provider);
                        prompt.say(Role::Assistant, blocks);
                    }
                }
            }
        }
        prompt.drop_unanswered();
        prompt.trim_end();
        prompt
    }

    fn assistant(&mut self, message: &'a Message, provider: &str) -> Vec<Block<'a>> {
        match message {
            Message::Reasoning(message) => reasoning(message, provider).into_iter().collect(),
            Message::Assistant(message) => {
                let mut blocks = self.said(message, provider);
                let calls = message.tool_calls.iter();
                blocks.extend(calls.filter_map(|call| self.tool_use(call, provider)));
                mark_last(&mut blocks, Mark::of_message(message.metadata.as_ref()));
                blocks
            }
            _ => Vec::new(),
        }
    }

    /// Returns the message's text, with the blocks in their places.
    fn said(&mut self, message: &'a AssistantMessage, provider: &str) -> Vec<Block<'a>> {
        let mut rest = message.content.as_deref().unwrap_or_default();
        let value = message.encrypted_value.as_deref();
        let segments: Vec<Segment> =
            sealed::open(value, provider, Dialect::Anthropic).unwrap_or_default();
        let mut blocks = Vec::with_capacity(segments.len() + 1);
        for segment in segments {
            match segment {
                Segment::Block(block) => blocks.push(Block::Kept(block)),
                Segment::Container(container) => self.container = Some(container),
                Segment::Text { length, citations } => {
                    // A text that was changed is no longer the cited one.
                    if let Some((text, behind)) = rest.split_at_checked(length) {
                        blocks.extend(content::cited(text.into(), citations));
                        rest = behind;
                    }
                }
            }
        }
        blocks.extend(Block::text(rest, None));
        blocks
    }

    fn tool_use(&mut self, call: &'a ToolCall, provider: &str) -> Option<Block<'a>> {
        let value = call.encrypted_value.as_deref();
        let sealed: Option<SealedCall> = sealed::open(value, provider, Dialect::Anthropic);
        if sealed.as_ref().is_some_and(|sealed| sealed.declined) {
            self.declined.insert(&call.id);
            return None;
        }
        Some(Block::ToolUse {
            id: &call.id,
            name: &call.function.name,
            input: Input(arguments(&call.function.arguments)),
            caller: sealed.and_then(|sealed| sealed.caller),
            cache_control: None,
        })
    }

    /// Adds blocks to the role's turn, which begins if it is the other's.
    fn say(&mut self, role: Role, blocks: Vec<Block<'a>>) {
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
    fn answer(&mut self, results: Vec<Block<'a>>) {
        match self.turns.last_mut() {
            Some(turn) if turn.role == Role::User => {
                let said = turn.content.iter().position(|block| !block.is_result());
                let at = said.unwrap_or(turn.content.len());
                turn.content.splice(at..at, results);
            }
            _ => self.say(Role::User, results),
        }
    }

    /// Removes calls of the provider's own tools without an answer, as in an answer that was cut off, and results
    /// without a call. In the last turn the provider continues such calls. Also removes the thinking of a model that
    /// declined in favour of another.
    fn drop_unanswered(&mut self) {
        let mut answered = BTreeSet::new();
        let mut asked = BTreeSet::new();
        for block in self.turns.iter().flat_map(|turn| &turn.content) {
            match block {
                Block::Kept(block) => {
                    asked.extend(block["id"].as_str());
                    answered.extend(block["tool_use_id"].as_str());
                }
                Block::ToolUse {
                    caller: Some(caller),
                    ..
                } => answered.extend(caller["tool_id"].as_str()),
                _ => {}
            }
        }
        let owned = |ids: BTreeSet<&str>| -> BTreeSet<String> {
            ids.into_iter().map(str::to_owned).collect()
        };
        let (asked, answered) = (owned(asked), owned(answered));
        let last = self.turns.len().saturating_sub(1);
        for (index, turn) in self.turns.iter_mut().enumerate() {
            let is_last = index == last && turn.role == Role::Assistant;
            let handed_over = turn.content.iter().rposition(Block::is_fallback);
            let mut places = 0..;
            turn.content.retain(|block| {
                let is_declined = places.next() < handed_over;
                match block {
                    Block::Kept(block) => {
                        match (block["id"].as_str(), block["tool_use_id"].as_str()) {
                            (Some(id), _) => (is_last && !is_declined) || answered.contains(id),
                            (None, Some(id)) => asked.contains(id),
                            (None, None) => true,
                        }
                    }
                    block => !(is_declined && block.is_thinking()),
                }
            });
        }
        self.turns.retain(|turn| !turn.content.is_empty());
    }

    /// Removes white space at the end of an answer that the model should continue, since it may not end in it.
    fn trim_end(&mut self) {
        if let Some(turn) = self.turns.last_mut()
            && turn.role == Role::Assistant
            && let Some(Block::Text { text, .. }) = turn.content.last_mut()
        {
            let length = text.trim_end().len();
            match text {
                Cow::Borrowed(text) => *text = &text[..length],
                Cow::Owned(text) => text.truncate(length),
            }
        }
    }

    /// The names of the tools that were called, each once.
    pub(super) fn called(&self) -> Vec<&'a str> {
        let mut names = Vec::new();
        let mut known = BTreeSet::new();
        for block in self.turns.iter().flat_map(|turn| &turn.content) {
            if let Block::ToolUse { name, .. } = block
                && known.insert(*name)
            {
                names.push(*name);
            }
        }
        names
    }

    /// Returns the index of the model's last turn: the answers to the user's last message, with their results.
    fn last_said(&self) -> usize {
        let is_said =
            |turn: &Turn<'_>| turn.role == Role::User && !turn.content.iter().any(Block::is_result);
        self.turns.iter().rposition(is_said).map_or(0, |at| at + 1)
    }

    /// Returns whether a turn of tools is in progress that began without thinking, so that it must continue without.
    pub(super) fn goes_on_without_thinking(&self) -> bool {
        let first = self.turns.get(self.last_said());
        let first = first.and_then(|turn| turn.content.first());
        first.is_some_and(|block| !block.is_thinking())
    }

    /// Removes the thinking from the turn in progress, for a request without thinking: the API refuses it there, and
    /// ignores that of earlier turns.
    pub(super) fn forget_thinking(&mut self) {
        let since = self.last_said();
        for turn in self.turns.iter_mut().skip(since) {
            if !turn.content.iter().all(Block::is_thinking) {
                turn.content.retain(|block| !block.is_thinking());
            }
        }
    }
}

fn user<'a>(message: &'a UserMessage, provider: &str) -> Vec<Block<'a>> {
    let mut blocks: Vec<_> = match &message.content {
        MessageContent::Text(text) => Block::text(text.as_str(), None).into_iter().collect(),
        MessageContent::Parts(parts) => parts
            .iter()
            .filter_map(|part| content::block(part, provider))
            .collect(),
    };
    mark_last(&mut blocks, Mark::of_message(message.metadata.as_ref()));
    blocks
}

fn result<'a>(message: &'a ToolMessage, provider: &str) -> Block<'a> {
    let failure = Failure::of(message, |_| false);
    let is_error = failure.is_some();
    let content = match (failure, &message.content) {
        // With an error only text is taken.
        (Some(failure), _) => Block::text(failure.into_words(), None)
            .into_iter()
            .collect(),
        (None, MessageContent::Parts(parts)) => parts
            .iter()
            .filter_map(|part| content::block(part, provider))
            .collect(),
        (None, MessageContent::Text(text)) => {
            Block::text(text.as_str(), None).into_iter().collect()
        }
    };
    Block::ToolResult {
        tool_use_id: &message.tool_call_id,
        content,
        is_error,
        cache_control: Mark::of_message(message.metadata.as_ref()),
    }
}

/// Thinking without its signature is left out, because the API refuses it.
fn reasoning<'a>(message: &'a ReasoningMessage, provider: &str) -> Option<Block<'a>> {
    let value = message.encrypted_value.as_deref();
    Some(match sealed::open(value, provider, Dialect::Anthropic)? {
        SealedThinking::Signature(signature) => Block::Thinking {
            thinking: &message.content,
            signature,
        },
        SealedThinking::Redacted(data) => Block::RedactedThinking { data },
    })
}

/// Returns whether the answer ends within the provider's own tools, so that it is sent back to be continued.
pub(in super::super) fn goes_on(message: &AssistantMessage, provider: &str) -> bool {
    let value = message.encrypted_value.as_deref();
    let segments: Option<Vec<Segment>> = sealed::open(value, provider, Dialect::Anthropic);
    let mut said = segments.iter().flatten();
    let last = said.rfind(|segment| !matches!(segment, Segment::Container(_)));
    message.tool_calls.is_empty() && matches!(last, Some(Segment::Block(_)))
}

fn mark_last(blocks: &mut [Block<'_>], mark: Option<Mark>) {
    if let Some(mark) = mark
        && let Some(place) = blocks.iter_mut().rev().find_map(Block::mark)
    {
        *place = Some(mark);
    }
}
