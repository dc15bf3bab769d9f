//! The blocks of a stream: its usage and its messages.
//!
//! The blocks of a turn, applied in sequence, rebuild exactly the messages of the live conversation. Messages that a
//! stream adds are recorded in their order. Earlier messages that it changes are recorded as they are at the end of the
//! stream.

use super::{Recorder, Rewritten, StreamNotes};
use crate::event::{AssistantMessage, Message, TokenUsage};
use crate::hash::fnv1a;
use crate::run::parts::bookmark::Bookmark;
use crate::run::protocol::{Attached, BlockContent};
use crate::tool::ToolRegistry;
use crate::transcript::{LiveCall, Transcript};
use crate::{CallKey, MessageId};
use serde::Serialize;
use std::collections::BTreeSet;

/// The stream that is recorded: the hop's, in the conversation as it is now.
pub(crate) struct StreamOf<'a> {
    hop: u32,
    pub(super) transcript: &'a Transcript,
    tools: &'a ToolRegistry,
    /// The place before the messages of the hop.
    begins: &'a Bookmark,
}

impl<'a> StreamOf<'a> {
    pub(crate) fn new(
        hop: u32,
        transcript: &'a Transcript,
        tools: &'a ToolRegistry,
        begins: &'a Bookmark,
    ) -> Self {
        Self {
            hop,
            transcript,
            tools,
            begins,
        }
    }

    #[cfg(feature = "model-check")]
    pub(super) fn transcript(&self) -> &'a Transcript {
        self.transcript
    }
}

impl Recorder {
    /// Records the hop's usage. A hop without usage is recorded too if a hop before had some.
    pub(crate) fn record_usage(&mut self, hop: u32, usage: &[TokenUsage]) {
        let counted = (!usage.is_empty()).then_some(hop);
        if self.is_on() && self.counted != counted {
            let usage = usage.to_vec();
            self.record(hop, BlockContent::Usage { usage });
            self.counted = counted;
        }
    }

    /// Notes what the stream has done: records finished messages, and remembers what to check once the stream is over.
    /// The messages from `kept` on were replaced.
    #[inline]
    pub(crate) fn note_stream(&mut self, of: &StreamOf<'_>, kept: Option<usize>) {
        if let Some(noted) = self.notes.take()
            && self.is_on()
        {
            self.note(of, kept, noted);
        }
    }

    fn note(&mut self, of: &StreamOf<'_>, kept: Option<usize>, noted: StreamNotes) {
        self.state_changed |= noted.state;
        if let Some(kept) = kept {
            self.note_rewritten(of, kept);
        }
        let start = self.stream_start(of);
        for id in noted.touched {
            let first = of.transcript.position(&id);
            if let Some(first) = first.filter(|_| of.transcript.last_position(&id) != first) {
                // The id does not identify one of the two messages.
                self.note_rewritten(of, first);
                continue;
            }
            let is_before = first.is_some_and(|at| at < start);
            if is_before && !self.touched.contains(&id) {
                self.touched.push(id);
            }
        }
        let end = self.rewritten_from(of);
        for id in noted.finished {
            let at = of.transcript.position(&id);
            if let Some(at) = at.filter(|at| (start..end).contains(at)) {
                self.record_up_to(of, start, at);
            }
        }
    }

    /// Notes that the messages from `kept` on were replaced.
    fn note_rewritten(&mut self, of: &StreamOf<'_>, kept: usize) {
        let messages = of.transcript.messages();
        let before = match &self.rewritten {
            Some(Rewritten { after: None }) => 0,
            Some(Rewritten { after: Some(id) }) => {
                of.transcript.position(id).map_or(usize::MAX, |at| at + 1)
            }
            None => usize::MAX,
        };
        let mut from = kept.min(before).min(messages.len());
        // The last one that stays is named by its id, which a bad agent may have given to two.
        while let Some(last) = from.checked_sub(1)
            && of.transcript.position(messages[last].id()) != Some(last)
        {
            from = last;
        }
        let after = messages[..from].last().map(|last| last.id().clone());
        self.rewritten = Some(Rewritten { after });
    }

    /// Returns the index of the first message that is recorded as a complete one.
    pub(super) fn rewritten_from(&self, of: &StreamOf<'_>) -> usize {
        match &self.rewritten {
            None => of.transcript.messages().len(),
            Some(Rewritten { after: None }) => 0,
            Some(Rewritten { after: Some(id) }) => {
                of.transcript.position(id).map_or(0, |at| at + 1)
            }
        }
    }

    /// Returns the index of the first message of the hop's stream.
    pub(crate) fn stream_start(&self, of: &StreamOf<'_>) -> usize {
        if of.begins.is_at_start() {
            return 0;
        }
        match of.begins.position(of.transcript) {
            Some(start) => start,
            None if self.rewritten.is_some() => self.rewritten_from(of),
            None => 0,
        }
    }

    /// Records the message at `last`. Before it, records the beginnings of the messages that precede it in the stream,
    /// so that the blocks have the order of the messages.
    fn record_up_to(&mut self, of: &StreamOf<'_>, start: usize, last: usize) {
        let recorded = self.recorded.last();
        let recorded = recorded.and_then(|entry| of.transcript.position(&entry.0));
        let first = recorded.map_or(start, |at| (at + 1).max(start));
        for at in (first..last).chain([last]) {
            self.record_message(of, at, true);
        }
    }

    /// Records the new part of the message at `at`. A message that only asks for tools comes with its calls, once the
    /// stream is over, unless `is_begun` says that its place must be kept.
    fn record_message(&mut self, of: &StreamOf<'_>, at: usize, is_begun: bool) {
        let transcript = of.transcript;
        let Some(message) = transcript.messages().get(at) else {
            return;
        };
        let id = message.id();
        let content = match Form::of(message, transcript) {
            Form::Text(text) => {
                self.piece(id, text, message)
                    .map(|(text, attached)| BlockContent::Text {
                        message_id: id.clone(),
                        text,
                        attached,
                    })
            }
            Form::Reasoning(text) => {
                self.piece(id, text, message)
                    .map(|(text, attached)| BlockContent::Reasoning {
                        message_id: id.clone(),
                        text,
                        attached,
                    })
            }
            Form::Calls => {
                let attached = Attached::of(message);
                let is_known = self.advance(id, 0).is_some();
                let is_new = !attached.is_empty() && self.mark_new(id, &attached);
                (is_new || (is_begun && !is_known)).then(|| {
                    let mut beginning = Message::Assistant(AssistantMessage {
                        id: id.clone(),
                        ..AssistantMessage::default()
                    });
                    attached.attach(&mut beginning);
                    let message = Box::new(beginning);
                    BlockContent::Message { message }
                })
            }
            // The result goes after its call, wherever that is; but the result of an earlier call with the same id only
            // here.
            Form::Result { has_call: true } if is_begun && transcript.answered_at(at).is_some() => {
                None
            }
            Form::Result { .. } | Form::Whole => {
                self.advance(id, 0);
                self.mark_new(id, message).then(|| {
                    let message = Box::new(message.clone());
                    BlockContent::Message { message }
                })
            }
        };
        if let Some(content) = content {
            self.record(of.hop, content);
        }
    }

    /// Records the rest of the hop's stream: text that never ended, the calls, and the results from the backend itself.
    /// The other results are recorded when they arrive.
    pub(crate) fn record_stream(&mut self, of: &StreamOf<'_>) {
        if !self.is_on() {
            return;
        }
        let (start, end) = (self.stream_start(of), self.rewritten_from(of));
        let mut recorded = Recorded::default();
        for id in std::mem::take(&mut self.touched) {
            let at = of.transcript.position(&id);
            if let Some(at) = at.filter(|at| *at < start.min(end)) {
                self.record_changed(of, at, &mut recorded);
            }
        }
        for at in start..end.max(start) {
            if !self.record_result(of, at, &mut recorded) {
                self.record_message(of, at, false);
                self.record_calls_of(of, at, &mut recorded);
            }
        }
        if let Some(Rewritten { after }) = self.rewritten.take() {
            let messages = of.transcript.messages()[end..].to_vec();
            let content = BlockContent::Messages { after, messages };
            self.record(of.hop, content);
        }
        let keys: Vec<_> = of.transcript.calls().iter().map(|call| call.key).collect();
        for key in keys {
            self.record_call(of, key, &mut recorded);
        }
        for at in end..of.transcript.messages().len() {
            self.record_result(of, at, &mut recorded);
        }
        if std::mem::take(&mut self.state_changed) {
            let state = of.transcript.shared_state().clone();
            self.record(of.hop, BlockContent::State { state });
        }
        self.forget_stream();
    }

    /// Records as it is now what the stream has changed, or put in, among other messages.
    fn record_changed(&mut self, of: &StreamOf<'_>, at: usize, recorded: &mut Recorded) {
        if self.record_result(of, at, recorded) {
            return;
        }
        if let Some(message) = of.transcript.messages().get(at) {
            let message = Box::new(message.clone());
            self.record(of.hop, BlockContent::Message { message });
        }
    }

    /// Records the hop's calls that the message at `at` asks for.
    fn record_calls_of(&mut self, of: &StreamOf<'_>, at: usize, recorded: &mut Recorded) {
        let Some(Message::Assistant(message)) = of.transcript.messages().get(at) else {
            return;
        };
        let calls = message.tool_calls.iter();
        let own = calls.filter(|call| of.transcript.owner(&call.id) == Some(&message.id));
        let live = own.filter_map(|call| of.transcript.call_by_id(&call.id));
        let keys: Vec<_> = live.map(|call| call.key).collect();
        for key in keys {
            self.record_call(of, key, recorded);
        }
    }

    fn record_call(&mut self, of: &StreamOf<'_>, key: CallKey, recorded: &mut Recorded) {
        let Some(live) = of.transcript.call(key) else {
            return;
        };
        if !recorded.calls.insert(key) {
            return;
        }
        let asked = of.transcript.tool_call(live);
        let arguments = asked.map_or("", |call| &call.function.arguments);
        let content = BlockContent::ToolUse {
            call: key,
            tool_call_id: live.id.clone(),
            name: live.name.clone(),
            arguments: arguments.to_owned(),
            parent: of.transcript.owner(&live.id).cloned(),
            label: of.tools.own_label(&live.name, arguments),
            encrypted_value: asked.and_then(|call| call.encrypted_value.clone()),
            metadata: asked.and_then(|call| call.metadata.clone()),
        };
        self.record(of.hop, content);
    }

    /// Records a result that the backend gave to a call of the hop. Whether the message at `at` is the first of that
    /// call.
    fn record_result(&mut self, of: &StreamOf<'_>, at: usize, recorded: &mut Recorded) -> bool {
        let Some(message) = of.transcript.messages().get(at) else {
            return false;
        };
        let Message::Tool(answer) = message else {
            return false;
        };
        let is_own = |call: &&LiveCall| call.status.is_final() && call.result.is_none();
        let call = of.transcript.answered_at(at);
        let call = call.and_then(|id| of.transcript.call_by_id(id));
        let Some(call) = call.filter(is_own) else {
            return false;
        };
        if recorded.results.contains(&call.key) {
            return false;
        }
        let key = call.key;
        let content = BlockContent::ToolResult {
            call: key,
            tool_call_id: call.id.clone(),
            content: answer.content.clone(),
            is_error: answer.error.is_some(),
            message_id: Some(answer.id.clone()),
            failure: None,
            attached: Attached::of(message),
        };
        recorded.results.insert(key);
        // The call may belong to a message from before the stream: it is recorded first all the same.
        self.record_call(of, key, recorded);
        self.record(of.hop, content);
        true
    }
}

/// The calls and results that were recorded so far at the end of a stream.
#[derive(Default)]
struct Recorded {
    calls: BTreeSet<CallKey>,
    results: BTreeSet<CallKey>,
}

/// The way in which a message is recorded.
pub(super) enum Form<'a> {
    /// Recorded in parts.
    Text(&'a str),
    /// Recorded in parts.
    Reasoning(&'a str),
    /// Recorded by its calls.
    Calls,
    /// Recorded complete, as a tool's result.
    Result { has_call: bool },
    /// Recorded complete.
    Whole,
}

impl Recorder {
    /// Returns the new part of a message that is recorded in parts.
    fn piece(
        &mut self,
        id: &MessageId,
        text: &str,
        message: &Message,
    ) -> Option<(String, Attached)> {
        let attached = Attached::of(message);
        let known = self.advance(id, text.len());
        let new = text.get(known.unwrap_or(0)..).unwrap_or_default();
        let is_attached = !attached.is_empty() && self.mark_new(id, &attached);
        (known.is_none() || !new.is_empty() || is_attached).then(|| {
            let attached = if is_attached {
                attached
            } else {
                Attached::default()
            };
            (new.to_owned(), attached)
        })
    }

    /// Marks a message, or what is attached to it, as recorded in its present form. Returns whether it was not.
    fn mark_new(&mut self, id: &MessageId, value: &impl Serialize) -> bool {
        let digest = digest(value);
        self.mark(id, digest) != Some(digest)
    }
}

/// Returns the digest that identifies a message, or its attached data.
pub(super) fn digest(value: &impl Serialize) -> u64 {
    // Maps with string keys and no fallible serialiser: there is nothing that can fail.
    fnv1a(&serde_json::to_vec(value).unwrap_or_default())
}

impl<'a> Form<'a> {
    pub(super) fn of(message: &'a Message, transcript: &Transcript) -> Self {
        match message {
            Message::Assistant(said) => {
                let mut calls = said.tool_calls.iter();
                // An agent may use an id twice: then the last one is live.
                let is_plain = is_bare(said)
                    && calls.all(|call| {
                        transcript.call_by_id(&call.id).is_some()
                            && transcript.owner(&call.id) == Some(&said.id)
                    });
                match &said.content {
                    Some(text) if is_plain => Self::Text(text),
                    None if is_plain && !said.tool_calls.is_empty() => Self::Calls,
                    _ => Self::Whole,
                }
            }
            Message::Reasoning(message) if message.extra.is_empty() => {
                Self::Reasoning(&message.content)
            }
            Message::Tool(result) => Self::Result {
                has_call: transcript.owner(&result.tool_call_id).is_some(),
            },
            _ => Self::Whole,
        }
    }
}

/// Returns whether the message has no field that only a complete message block can hold.
fn is_bare(said: &AssistantMessage) -> bool {
    let mut calls = said.tool_calls.iter();
    said.extra.is_empty()
        && calls.all(|call| call.extra.is_empty() && call.function.extra.is_empty())
}
