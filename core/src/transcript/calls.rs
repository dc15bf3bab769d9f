//! Tool calls: where they go, and where their results do.

use super::apply::subagent;
use super::{LiveCall, ToolCallStatus, Transcript};
use crate::event::{
    AssistantMessage, Common, Message, ToolCall, ToolCallResult, ToolCallStart, ToolMessage,
};
use crate::{CallKey, MessageId, ToolCallId};
use foldhash::fast::RandomState;
use std::collections::HashMap;

impl Transcript {
    pub(super) fn call_started(&mut self, event: &ToolCallStart) {
        let id = &event.tool_call_id;
        let parent = event.parent_message_id.as_ref();
        // A provider may use an id again in a later hop: with another parent it is another call.
        let known = self
            .index
            .call(id)
            .filter(|&(at, _)| parent.is_none_or(|parent| self.messages[at].id() == parent));
        if let Some((at, position)) = known {
            if let Some(call) = self.call_at(at, position) {
                call.function.name.clone_from(&event.tool_call_name);
            }
        } else {
            let at = self.assistant_for(parent, id, event.common.as_deref());
            if let Message::Assistant(message) = &mut self.messages[at] {
                message.tool_calls.push(ToolCall::new(
                    id.clone(),
                    event.tool_call_name.clone(),
                    "",
                ));
                let position = message.tool_calls.len() - 1;
                self.index.add_call(id.clone(), (at, position));
            }
        }
        self.merge_call_metadata(id, event.common.as_deref());
        if let Some(call) = self.live_call(id) {
            call.status = ToolCallStatus::Streaming;
            call.name.clone_from(&event.tool_call_name);
        } else {
            let key = CallKey {
                hop: self.hop,
                index: self.next_call,
            };
            self.next_call += 1;
            self.calls.push(LiveCall {
                key,
                id: id.clone(),
                name: event.tool_call_name.clone(),
                status: ToolCallStatus::Streaming,
                result: None,
                edited: None,
                changed: None,
                restarts: 0,
            });
        }
    }

    /// The assistant message that a new call goes into: its parent, or a new message.
    fn assistant_for(
        &mut self,
        parent: Option<&MessageId>,
        call: &ToolCallId,
        common: Option<&Common>,
    ) -> usize {
        let place = parent.and_then(|parent| self.index.message(parent));
        let id = match (parent, place) {
            (Some(_), Some(at)) if matches!(self.messages[at], Message::Assistant(_)) => return at,
            (Some(parent), None) => parent.clone(),
            _ => MessageId::from(call.as_str()),
        };
        match self.index.message(&id) {
            Some(at) if matches!(self.messages[at], Message::Assistant(_)) => at,
            Some(_) => self.push_unindexed(Message::Assistant(AssistantMessage {
                id,
                subagent_run_id: subagent(common),
                ..AssistantMessage::default()
            })),
            None => {
                let _ = self.push(Message::Assistant(AssistantMessage {
                    id,
                    subagent_run_id: subagent(common),
                    ..AssistantMessage::default()
                }));
                self.messages.len() - 1
            }
        }
    }

    /// Two messages of one id: the first keeps the place in the index.
    fn push_unindexed(&mut self, message: Message) -> usize {
        self.index.rewritten(self.messages.len());
        self.messages.push(message);
        self.messages.len() - 1
    }

    pub(super) fn live_call(&mut self, id: &str) -> Option<&mut LiveCall> {
        self.calls.iter_mut().rev().find(|call| call.id == id)
    }

    /// Adopts a call of the history as one of the hop's, if it is not one and has no result: an agent may leave a call
    /// that only a snapshot brought to the client. Returns whether there is such a call.
    pub(crate) fn adopt_call(&mut self, id: &ToolCallId) -> bool {
        self.call_by_id(id).is_some() || self.adopt_last(id)
    }

    /// The same, of the last call of the history with this id, whatever the hop has under it.
    fn adopt_last(&mut self, id: &ToolCallId) -> bool {
        let Some((at, position)) = self.index.call(id) else {
            return false;
        };
        let is_answered = self.is_answered(id);
        let Some(call) = self.call_at(at, position) else {
            return false;
        };
        let name = call.function.name.clone();
        if !is_answered {
            let key = CallKey {
                hop: self.hop,
                index: self.next_call,
            };
            self.next_call += 1;
            self.calls.push(LiveCall {
                key,
                id: id.clone(),
                name,
                status: ToolCallStatus::Pending,
                result: None,
                edited: None,
                changed: None,
                restarts: 0,
            });
        }
        true
    }

    /// Returns whether the last call of the history with this id has its result.
    pub(crate) fn is_answered(&self, id: &str) -> bool {
        (0..self.messages.len()).any(|at| self.answered_at(at).is_some_and(|call| *call == *id))
    }

    /// The call that the message at `at` is a result of, unless it answers one that had the same id before.
    pub(crate) fn answered_at(&self, at: usize) -> Option<&ToolCallId> {
        let Message::Tool(ToolMessage { tool_call_id, .. }) = self.messages.get(at)? else {
            return None;
        };
        let is_earlier = self.index.is_asked_again(tool_call_id, at);
        (!is_earlier).then_some(tool_call_id)
    }

    /// The ids of all calls that the history asks for, in its order.
    pub(crate) fn asked(&self) -> Vec<ToolCallId> {
        let of = |message: &Message| match message {
            Message::Assistant(message) => message.tool_calls.clone(),
            _ => Vec::new(),
        };
        let calls = self.messages.iter().flat_map(of);
        calls.map(|call| call.id).collect()
    }

    /// Makes the calls that the history asks for, beyond those that it did `before`, the hop's, if they have no result.
    pub(crate) fn adopt_calls_beyond(&mut self, before: Vec<ToolCallId>) {
        let mut known: HashMap<ToolCallId, usize, RandomState> = HashMap::default();
        for id in before {
            *known.entry(id).or_insert(0) += 1;
        }
        for id in self.asked() {
            match known.get_mut(&id) {
                Some(times) if *times > 0 => *times -= 1,
                _ => {
                    self.adopt_last(&id);
                    // That is the last of them, which is one call.
                    known.insert(id, usize::MAX);
                }
            }
        }
    }

    pub(super) fn call_answered(&mut self, event: &ToolCallResult) {
        let mut message = ToolMessage {
            id: event.message_id.clone(),
            tool_call_id: event.tool_call_id.clone(),
            content: event.content.clone(),
            subagent_run_id: subagent(event.common.as_deref()),
            ..ToolMessage::default()
        };
        if let Some(metadata) = event
            .common
            .as_deref()
            .and_then(|common| common.metadata.clone())
        {
            message.metadata = Some(metadata);
        }
        self.insert_result(Message::Tool(message));
        if let Some(call) = self.live_call(&event.tool_call_id) {
            call.status = ToolCallStatus::Completed;
        }
    }

    /// Inserts a tool message after the message with its call, among the results that follow in the order of the calls.
    /// A result without a call goes to the end, after those with one.
    pub(crate) fn insert_result(&mut self, message: Message) {
        let call = match &message {
            Message::Tool(result) => self.index.call(&result.tool_call_id),
            _ => None,
        };
        let at = call.map_or(self.messages.len(), |(owner, position)| {
            let later = match &self.messages[owner] {
                Message::Assistant(said) => said.tool_calls.get(position + 1..).unwrap_or_default(),
                _ => &[],
            };
            let comes_before = |message: &&Message| {
                let Message::Tool(result) = message else {
                    return false;
                };
                match self.index.call(&result.tool_call_id) {
                    Some(place) if place.0 == owner => place.1 <= position,
                    // The result answers a call whose id was used again elsewhere.
                    Some(_) => later.iter().all(|call| call.id != result.tool_call_id),
                    None => false,
                }
            };
            let results = self.messages[owner + 1..].iter().take_while(comes_before);
            owner + 1 + results.count()
        });
        if let Some(same) = self.index.message(message.id()) {
            // Two messages of one id.
            self.index.rewritten(same.min(at));
        }
        if at < self.messages.len() {
            self.index.shift(at);
        }
        self.index.add(&message, at);
        self.messages.insert(at, message);
    }
}
