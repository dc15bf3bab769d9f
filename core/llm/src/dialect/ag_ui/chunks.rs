//! Expansion of chunks, the short form of start, content and end in one event.
//!
//! A continuing chunk may leave out what it continues, so at most one item is open in each lane: the parent agent's,
//! and one for each subagent.
//!
//! Source: AG-UI 1.0 (streaming), and the chunk stage of the reference client `@ag-ui/client` 1.0.0.

use crate::dialect::AnswerLimit;
use crate::dialect::DecodeError;
use crate::event::{
    Common, Event, EventError, ReasoningMessageChunk, ReasoningMessageContent, ReasoningMessageEnd,
    ReasoningMessageStart, ReasoningRole, TextMessageChunk, TextMessageContent, TextMessageEnd,
    TextMessageRole, TextMessageStart, ToolCallArgs, ToolCallChunk, ToolCallEnd, ToolCallStart,
};
use crate::{MessageId, ToolCallId};
use serde::{Deserialize, Serialize};

/// The maximum number of lanes with an open item.
const MOST_LANES: usize = 1024;

/// The open items that chunks began, in the order of their beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Lanes(Vec<Lane>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Lane {
    /// The subagent; absent for the parent agent.
    owner: Option<String>,
    kind: ChunkKind,
    opening: Opening,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum ChunkKind {
    Text,
    Tool,
    Reasoning,
}

/// The values of an item's first chunk, which later chunks may only repeat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Opening {
    id: String,
    role: Option<TextMessageRole>,
    /// The speaker's name, or the tool's.
    name: Option<String>,
    parent_message_id: Option<String>,
}

/// Any of the three chunks.
struct Chunk {
    event: &'static str,
    kind: ChunkKind,
    id: Option<String>,
    role: Option<TextMessageRole>,
    name: Option<String>,
    parent_message_id: Option<String>,
    delta: Option<String>,
    common: Common,
}

impl Lanes {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends the events that `event` expands to, to `out`.
    ///
    /// # Errors
    /// A chunk names no open item, or contradicts the open item.
    pub(super) fn expand(&mut self, event: Event, out: &mut Vec<Event>) -> Result<(), DecodeError> {
        match event {
            Event::TextMessageChunk(chunk) => return self.chunk(chunk.into(), out),
            Event::ToolCallChunk(chunk) => return self.chunk(chunk.into(), out),
            Event::ReasoningMessageChunk(chunk) => return self.chunk(chunk.into(), out),
            Event::TextMessageStart(_)
            | Event::TextMessageContent(_)
            | Event::TextMessageEnd(_)
            | Event::ToolCallStart(_)
            | Event::ToolCallArgs(_)
            | Event::ToolCallEnd(_)
            | Event::ToolCallResult(_)
            | Event::StateSnapshot(_)
            | Event::StateDelta(_)
            | Event::Custom(_)
            | Event::StepStarted(_)
            | Event::StepFinished(_)
            | Event::ReasoningStart(_)
            | Event::ReasoningMessageStart(_)
            | Event::ReasoningMessageContent(_)
            | Event::ReasoningMessageEnd(_)
            | Event::ReasoningEnd(_) => {
                let tag = event
                    .common()
                    .and_then(|common| common.subagent_run_id.as_deref());
                self.close(tag, out);
            }
            Event::RunStarted(_)
            | Event::RunFinished(_)
            | Event::RunError(_)
            | Event::MessagesSnapshot(_) => out.extend(self.0.drain(..).map(Lane::end)),
            Event::SubagentFinished(ref event) => self.close(Some(&event.subagent_run_id), out),
            Event::SubagentError(ref event) => self.close(Some(&event.subagent_run_id), out),
            // `RAW`, activities, the start of a subagent, encrypted values and what is unknown leave open what is.
            _ => {}
        }
        out.push(event);
        Ok(())
    }

    /// Ends the open item in the lane of `owner`.
    pub(super) fn close(&mut self, owner: Option<&str>, out: &mut Vec<Event>) {
        let lane = self
            .0
            .iter()
            .position(|lane| lane.owner.as_deref() == owner);
        if let Some(lane) = lane {
            out.push(self.0.remove(lane).end());
        }
    }

    fn chunk(&mut self, chunk: Chunk, out: &mut Vec<Event>) -> Result<(), DecodeError> {
        let owner = self.owner(&chunk)?;
        let lane = self.0.iter().find(|lane| lane.owner == owner);
        let continued = lane.filter(|lane| {
            lane.kind == chunk.kind && chunk.id.as_ref().is_none_or(|id| *id == lane.opening.id)
        });
        if let Some(lane) = continued {
            chunk.agrees(&lane.opening)?;
            chunk.content(&lane.opening.id, owner, true, out);
            return Ok(());
        }
        let opening = chunk.opening()?;
        self.close(owner.as_deref(), out);
        if self.0.len() >= MOST_LANES {
            return Err(AnswerLimit::open(MOST_LANES).into());
        }
        out.push(chunk.start(&opening));
        let id = opening.id.clone();
        self.0.push(Lane {
            owner: owner.clone(),
            kind: chunk.kind,
            opening,
        });
        chunk.content(&id, owner, false, out);
        Ok(())
    }

    /// Returns the owner of the lane that a chunk belongs to.
    fn owner(&self, chunk: &Chunk) -> Result<Option<String>, EventError> {
        let tag = &chunk.common.subagent_run_id;
        let of_kind = || self.0.iter().filter(|lane| lane.kind == chunk.kind);
        if let Some(id) = &chunk.id {
            let holder = of_kind().find(|lane| lane.opening.id == *id);
            return match holder {
                Some(holder) if tag.is_some() && *tag != holder.owner => {
                    Err(chunk.malformed(format!(
                        "'{id}' is open for {}, and cannot go on for {}",
                        agent(holder.owner.as_deref()),
                        agent(tag.as_deref()),
                    )))
                }
                Some(holder) => Ok(holder.owner.clone()),
                None => Ok(tag.clone()),
            };
        }
        if tag.is_some() || of_kind().any(|lane| lane.owner.is_none()) {
            return Ok(tag.clone());
        }
        let mut candidates = of_kind();
        match (candidates.next(), candidates.next()) {
            (Some(_), Some(_)) => Err(chunk.malformed(format!(
                "it has neither {} nor subagentRunId, and several subagents have such an item open",
                chunk.kind.id_field(),
            ))),
            (only, _) => Ok(only.and_then(|lane| lane.owner.clone())),
        }
    }
}

fn agent(owner: Option<&str>) -> String {
    owner.map_or_else(
        || "the parent agent".to_owned(),
        |id| format!("subagent '{id}'"),
    )
}

impl ChunkKind {
    fn id_field(self) -> &'static str {
        match self {
            Self::Tool => "toolCallId",
            Self::Text | Self::Reasoning => "messageId",
        }
    }

    fn name_field(self) -> &'static str {
        match self {
            Self::Tool => "toolCallName",
            Self::Text | Self::Reasoning => "name",
        }
    }
}

impl Chunk {
    fn malformed(&self, reason: String) -> EventError {
        EventError::Chunk {
            kind: self.event,
            reason,
        }
    }

    /// Returns the item that this chunk opens, if it may open one.
    fn opening(&self) -> Result<Opening, EventError> {
        let missing =
            |field| self.malformed(format!("it begins an item, so it must have a {field}"));
        let id = self
            .id
            .clone()
            .ok_or_else(|| missing(self.kind.id_field()))?;
        if self.kind == ChunkKind::Tool && self.name.is_none() {
            return Err(missing(self.kind.name_field()));
        }
        Ok(Opening {
            id,
            // An absent role is the assistant's.
            role: (self.kind == ChunkKind::Text)
                .then(|| self.role.unwrap_or(TextMessageRole::Assistant)),
            name: self.name.clone(),
            parent_message_id: self.parent_message_id.clone(),
        })
    }

    /// Checks that a continuing chunk repeats the values of the first one.
    fn agrees(&self, opening: &Opening) -> Result<(), EventError> {
        let role = self.role.is_none() || self.role == opening.role;
        let name = self.name.is_none() || self.name == opening.name;
        let parent =
            self.parent_message_id.is_none() || self.parent_message_id == opening.parent_message_id;
        let field = match (role, name, parent) {
            (true, true, true) => return Ok(()),
            (false, ..) => "role",
            (_, false, _) => self.kind.name_field(),
            _ => "parentMessageId",
        };
        Err(self.malformed(format!(
            "it goes on with '{}' but gives another {field} than the first chunk; repeat it or leave it out",
            opening.id,
        )))
    }

    fn start(&self, opening: &Opening) -> Event {
        // Fields that do not belong to the start go with the content, or with the start if there is no content.
        let extra = if self.has_content() {
            Default::default()
        } else {
            self.common.extra.clone()
        };
        let common = boxed(Common {
            raw_event: None,
            extra,
            ..self.common.clone()
        });
        let message_id = opening.id.as_str().into();
        match self.kind {
            ChunkKind::Text => Event::TextMessageStart(TextMessageStart {
                message_id,
                role: opening.role,
                name: opening.name.clone(),
                common,
            }),
            ChunkKind::Tool => Event::ToolCallStart(ToolCallStart {
                tool_call_id: opening.id.as_str().into(),
                tool_call_name: opening.name.clone().unwrap_or_default(),
                parent_message_id: opening.parent_message_id.as_deref().map(Into::into),
                common,
            }),
            ChunkKind::Reasoning => Event::ReasoningMessageStart(ReasoningMessageStart {
                message_id,
                role: ReasoningRole::Reasoning,
                common,
            }),
        }
    }

    fn has_content(&self) -> bool {
        self.delta.is_some() || self.common.raw_event.is_some()
    }

    /// The content, if there is any, or if a continuing chunk has attachments that nothing else can carry.
    fn content(self, id: &str, owner: Option<String>, continued: bool, out: &mut Vec<Event>) {
        let attached = self.common.metadata.is_some() || !self.common.extra.is_empty();
        let needed = self.has_content() || (continued && attached);
        if !needed {
            return;
        }
        let common = boxed(Common {
            subagent_run_id: owner,
            ..self.common
        });
        let delta = self.delta.unwrap_or_default();
        out.push(match self.kind {
            ChunkKind::Text => Event::TextMessageContent(TextMessageContent {
                message_id: id.into(),
                delta,
                common,
            }),
            ChunkKind::Tool => Event::ToolCallArgs(ToolCallArgs {
                tool_call_id: id.into(),
                delta,
                common,
            }),
            ChunkKind::Reasoning => Event::ReasoningMessageContent(ReasoningMessageContent {
                message_id: id.into(),
                delta,
                common,
            }),
        });
    }
}

impl Lane {
    fn end(self) -> Event {
        let id = self.opening.id;
        let common = boxed(Common {
            subagent_run_id: self.owner,
            ..Common::default()
        });
        match self.kind {
            ChunkKind::Text => Event::TextMessageEnd(TextMessageEnd {
                message_id: id.into(),
                common,
            }),
            ChunkKind::Tool => Event::ToolCallEnd(ToolCallEnd {
                tool_call_id: id.into(),
                common,
            }),
            ChunkKind::Reasoning => Event::ReasoningMessageEnd(ReasoningMessageEnd {
                message_id: id.into(),
                common,
            }),
        }
    }
}

fn boxed(common: Common) -> Option<Box<Common>> {
    (common != Common::default()).then(|| Box::new(common))
}

fn unboxed(common: Option<Box<Common>>) -> Common {
    common.map(|common| *common).unwrap_or_default()
}

impl From<TextMessageChunk> for Chunk {
    fn from(chunk: TextMessageChunk) -> Self {
        Self {
            event: TextMessageChunk::KIND,
            kind: ChunkKind::Text,
            id: chunk.message_id.map(MessageId::into_string),
            role: chunk.role,
            name: chunk.name,
            parent_message_id: None,
            delta: chunk.delta,
            common: unboxed(chunk.common),
        }
    }
}

impl From<ToolCallChunk> for Chunk {
    fn from(chunk: ToolCallChunk) -> Self {
        Self {
            event: ToolCallChunk::KIND,
            kind: ChunkKind::Tool,
            id: chunk.tool_call_id.map(ToolCallId::into_string),
            role: None,
            name: chunk.tool_call_name,
            parent_message_id: chunk.parent_message_id.map(MessageId::into_string),
            delta: chunk.delta,
            common: unboxed(chunk.common),
        }
    }
}

impl From<ReasoningMessageChunk> for Chunk {
    fn from(chunk: ReasoningMessageChunk) -> Self {
        Self {
            event: ReasoningMessageChunk::KIND,
            kind: ChunkKind::Reasoning,
            id: chunk.message_id.map(MessageId::into_string),
            role: None,
            name: None,
            parent_message_id: None,
            delta: chunk.delta,
            common: unboxed(chunk.common),
        }
    }
}
