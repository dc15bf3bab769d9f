//! The typed answer, parsed while it streams.

use super::partial_calls::{add, stopped};
use super::queue::{Place, Queue};
use crate::event::{Event, Message, REPLACED};
use crate::run::protocol::{PartialOutputUpdate, RunEvent};
use crate::tool::schema::Spelling;
use crate::tool::{OutputType, OwnedChange, PartialArguments, PartialState};
use crate::transcript::Transcript;
use crate::{MessageId, ToolCallId};
use serde::{Deserialize, Serialize};

/// The number of brackets that turned out not to start the answer, after which the text is no longer searched.
const MOST_IN_VAIN: u32 = 32;

/// The number of changes that an update has room for at first. Few deltas bring more, and allocators serve blocks of
/// under a kilobyte quickly.
const CHANGES: usize = 9;

/// Reads the answer of one hop. Only its progress is stored: the text belongs to the conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PartialOutput {
    hop: u32,
    source: Source,
    /// The start of the JSON in the source's text, and the length that was read, in bytes.
    from: usize,
    read: usize,
    /// The number of changes that were reported.
    said: usize,
    /// The number of brackets that turned out not to start the answer.
    in_vain: u32,
    #[serde(skip)]
    of: Option<Of>,
    #[serde(skip)]
    reader: PartialArguments,
    /// The update that later changes may be merged with.
    #[serde(skip)]
    waiting: Option<Place>,
}

/// The place of the hop's answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Source {
    #[default]
    Unknown,
    Text(MessageId),
    Call(ToolCallId),
}

/// The kind of answer that is read.
#[derive(Clone, Debug, PartialEq)]
struct Of {
    /// The tool whose arguments are read; `None` if the answer is text.
    tool: Option<String>,
    spelling: Option<Spelling>,
}

impl PartialOutput {
    /// Reads answers of this type. Text that was read before the run was stored is read again.
    pub(crate) fn set_up(
        &mut self,
        output: &OutputType,
        tool: Option<String>,
        transcript: &Transcript,
    ) {
        let spelling = output.spelling().cloned();
        self.reader = PartialArguments::in_text(spelling.clone());
        self.of = Some(Of { tool, spelling });
        let text = self.text(transcript);
        let text = text.and_then(|text| text.get(self.from..self.from.checked_add(self.read)?));
        match text {
            Some(text) => self.reader.push(text),
            None => self.begin_hop(self.hop),
        }
    }

    pub(crate) fn begin_hop(&mut self, hop: u32) {
        self.hop = hop;
        self.source = Source::Unknown;
        self.in_vain = 0;
        self.restart(0);
    }

    /// Returns the reader of the text so far.
    pub(crate) fn reader(&self) -> Option<&PartialArguments> {
        (self.source != Source::Unknown).then_some(&self.reader)
    }

    fn restart(&mut self, from: usize) {
        (self.from, self.read, self.said) = (from, 0, 0);
        self.reader.restart();
        self.waiting = None;
    }

    fn text<'c>(&self, transcript: &'c Transcript) -> Option<&'c str> {
        match &self.source {
            Source::Unknown => None,
            Source::Text(id) => match transcript.message(id)? {
                Message::Assistant(said) => said.content.as_deref(),
                _ => None,
            },
            Source::Call(id) => {
                // The call is over once its result is in the history.
                let (_, call) = transcript.call_of_history(id)?;
                Some(&call.function.arguments)
            }
        }
    }

    /// Notes the start of a call. The first call of the final tool has the answer in its arguments.
    pub(crate) fn event(&mut self, event: &Event, transcript: &Transcript, queue: &mut Queue) {
        if let Event::Custom(event) = event
            && event.name == REPLACED
        {
            let is_it = match &self.source {
                Source::Unknown => false,
                Source::Text(id) => event.value["messageId"] == id.as_str(),
                Source::Call(id) => event.value["toolCallId"] == id.as_str(),
            };
            if is_it {
                self.restart(self.from);
                self.catch_up(transcript, queue);
            }
            return;
        }
        let tool = self.of.as_ref().and_then(|of| of.tool.as_deref());
        if let Event::ToolCallStart(start) = event
            && self.source == Source::Unknown
            && tool == Some(&*start.tool_call_name)
        {
            self.source = Source::Call(start.tool_call_id.clone());
            self.catch_up(transcript, queue);
        }
    }

    /// Reads a delta of a call's arguments, which comes after `from` bytes.
    #[inline]
    pub(crate) fn arguments(
        &mut self,
        id: &str,
        from: usize,
        delta: &str,
        transcript: &Transcript,
        queue: &mut Queue,
    ) {
        match &self.source {
            Source::Call(call) if **call == *id => {}
            _ => return,
        }
        if from == self.from + self.read {
            self.take(delta, queue);
        } else {
            self.restart(0);
            self.catch_up(transcript, queue);
        }
    }

    /// Reads a delta of a message's text, which comes after `from` bytes.
    #[inline]
    pub(crate) fn text_delta(&mut self, id: &str, from: usize, delta: &str, queue: &mut Queue) {
        match &self.source {
            Source::Text(message) if **message == *id => {
                if from == self.from + self.read {
                    self.take(delta, queue);
                }
                if self.source == Source::Unknown {
                    self.look_for_beginning(id, from, delta, queue);
                }
            }
            Source::Unknown if self.of.as_ref().is_some_and(|of| of.tool.is_none()) => {
                self.look_for_beginning(id, from, delta, queue);
            }
            _ => {}
        }
    }

    fn look_for_beginning(&mut self, id: &str, mut from: usize, mut text: &str, queue: &mut Queue) {
        while self.in_vain < MOST_IN_VAIN
            && let Some(at) = text.find(['{', '['])
        {
            self.source = Source::Text(id.into());
            self.restart(from + at);
            self.take(&text[at..], queue);
            if self.source != Source::Unknown {
                return;
            }
            from += at + 1;
            text = &text[at + 1..];
        }
    }

    fn catch_up(&mut self, transcript: &Transcript, queue: &mut Queue) {
        if let Some(text) = self.text(transcript)
            && let Some(text) = text.get(self.from..).map(str::to_owned)
        {
            self.take(&text, queue);
        }
    }

    fn take(&mut self, text: &str, queue: &mut Queue) {
        if self.reader.state() == PartialState::Open {
            self.tell(text, queue);
            // The text in brackets was not JSON, and only its start was reported.
            let is_text = matches!(self.source, Source::Text(_));
            if is_text && self.is_no_json() && self.said <= 1 {
                self.in_vain += 1;
                self.source = Source::Unknown;
                return;
            }
        }
        self.read += text.len();
    }

    fn is_no_json(&self) -> bool {
        matches!(self.reader.state(), PartialState::Invalid(_))
    }

    /// Queues what the text has to say, in the update that waits if there is one.
    fn tell(&mut self, text: &str, queue: &mut Queue) {
        let is_text = matches!(self.source, Source::Text(_));
        if let Some(update) = self.waiting.and_then(|place| open_update(queue, place)) {
            let before = update.changes.len();
            self.reader
                .push_with(text, |change| add(&mut update.changes, change));
            self.said += update.changes.len() - before;
            if !is_text || self.said > 1 {
                update.stopped = stopped(&self.reader);
            }
            return;
        }
        let mut changes: Vec<OwnedChange> = Vec::with_capacity(CHANGES);
        self.reader
            .push_with(text, |change| add(&mut changes, change));
        self.said += changes.len();
        let stopped = stopped(&self.reader).filter(|_| !is_text || self.said > 1);
        if changes.is_empty() && stopped.is_none() {
            return;
        }
        let update = PartialOutputUpdate {
            hop: self.hop,
            changes,
            stopped,
        };
        self.waiting = Some(queue.push_open(RunEvent::PartialOutput(update)));
    }
}

/// The update at this place, if it may still be added to.
fn open_update(queue: &mut Queue, place: Place) -> Option<&mut PartialOutputUpdate> {
    match queue.open_event(place)? {
        RunEvent::PartialOutput(update) => Some(update),
        _ => None,
    }
}
