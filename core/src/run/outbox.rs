use super::config::RunConfig;
use super::effect::EffectId;
use super::output::RunEvent;
use super::partial_calls::{Batch, PartialCalls};
use super::text_options::{Piece, TextLayer, TextOptions};
use crate::conversation::{Applied, Conversation, Item};
use crate::event::{EncryptedValueSubtype, Event, EventRef, Finding};
use crate::pipeline::Listener;
use crate::tool::PartialArguments;
use crate::{MessageId, ToolCallId};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// What waits for the host, in order. Deltas are ranges of the conversation: strings are made only when the host asks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Outbox {
    entries: VecDeque<Entry>,
    /// So many of the first entries are no deltas, or were made whole events.
    #[serde(skip)]
    whole: usize,
    /// Deltas that a further one of the same item may still be merged with. Not stored: merging is never needed.
    #[serde(skip)]
    mergeable: Vec<(Item, usize)>,
    /// What the stream did, for the recorder.
    #[serde(skip)]
    noted: Noted,
    /// The calls' arguments as they are parsed while they stream, if they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    partial: Option<PartialCalls>,
    /// How text is shown, if not just as it comes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<Box<TextLayer>>,
    /// Counts up whenever nothing that waits may be merged with any more.
    #[serde(skip)]
    batch: u64,
}

/// What a stream did since the recorder last looked.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Noted {
    /// The messages that came to an end.
    pub(super) finished: Vec<MessageId>,
    /// The messages that it began, or changed otherwise than by a delta.
    pub(super) touched: Vec<MessageId>,
    /// It changed the shared state.
    pub(super) state: bool,
    /// There is something of these, or messages were replaced.
    any: bool,
}

impl Noted {
    fn event(&mut self, event: &Event, conversation: &Conversation) {
        let owner = |call: &ToolCallId| conversation.owner(call).cloned();
        let touched = match event {
            Event::TextMessageEnd(event) => {
                self.finished.push(event.message_id.clone());
                None
            }
            Event::ReasoningMessageEnd(event) => {
                self.finished.push(event.message_id.clone());
                None
            }
            Event::TextMessageStart(event) => Some(event.message_id.clone()),
            Event::ReasoningMessageStart(event) => Some(event.message_id.clone()),
            Event::ToolCallStart(event) => owner(&event.tool_call_id),
            Event::ToolCallResult(event) => Some(event.message_id.clone()),
            Event::ActivitySnapshot(event) => Some(event.message_id.clone()),
            Event::ActivityDelta(event) => Some(event.message_id.clone()),
            Event::ReasoningEncryptedValue(event) => match event.subtype {
                EncryptedValueSubtype::Message => Some(event.entity_id.as_str().into()),
                EncryptedValueSubtype::ToolCall => owner(&event.entity_id.as_str().into()),
            },
            Event::StateSnapshot(_) | Event::StateDelta(_) => {
                self.state = true;
                None
            }
            Event::MessagesSnapshot(_) => None,
            _ => return,
        };
        self.any = true;
        self.touched.extend(touched);
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Entry {
    Delta { item: Item, from: usize, to: usize },
    Event(Box<RunEvent>),
    Effect(EffectId),
    Stop(EffectId),
}

/// With more items open than this, deltas of the others are not merged: the search would cost more than it saves.
const MERGEABLE: usize = 16;

impl Outbox {
    pub(super) fn event(&mut self, event: RunEvent) {
        self.push(Entry::Event(Box::new(event)));
    }

    pub(super) fn effect(&mut self, id: EffectId) {
        self.push(Entry::Effect(id));
    }

    /// The host is to stop what it does under this id.
    pub(super) fn stop(&mut self, id: EffectId) {
        self.push(Entry::Stop(id));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn pop(&mut self) -> Option<Entry> {
        self.close_batch();
        self.whole = self.whole.saturating_sub(1);
        self.entries.pop_front()
    }

    /// What the stream did since the last call, if it did anything that counts for the recorder.
    #[inline]
    pub(super) fn take_noted(&mut self) -> Option<Noted> {
        self.noted.any.then(|| std::mem::take(&mut self.noted))
    }

    /// Whether calls' arguments are parsed while they stream. What was read before a restore is read again.
    pub(super) fn read_arguments(&mut self, config: &RunConfig, conversation: &Conversation) {
        if !config.partial_arguments {
            self.partial = None;
            return;
        }
        self.partial
            .get_or_insert_default()
            .read_again(&config.tools, conversation);
    }

    /// How text is shown from here on.
    pub(super) fn show_text(&mut self, options: TextOptions) {
        let mut before = self.text.take().map(|layer| *layer);
        if !options.drop_blank
            && let Some(before) = before.take()
        {
            // The options have changed since the run was stored.
            for start in before.into_held() {
                self.event(RunEvent::AgUi(start));
            }
        }
        self.text = TextLayer::new(options, before).map(Box::new);
    }

    /// A stream begins: what the one before held back is not shown any more.
    pub(super) fn forget_held_text(&mut self) {
        if let Some(text) = &mut self.text {
            text.forget();
        }
    }

    pub(super) fn partial_arguments(&self, tool_call_id: &str) -> Option<&PartialArguments> {
        self.partial.as_ref()?.get(tool_call_id)
    }

    /// The calls are over.
    pub(super) fn forget_arguments(&mut self) {
        if let Some(partial) = &mut self.partial {
            partial.clear();
        }
    }

    fn push(&mut self, entry: Entry) {
        self.close_batch();
        self.entries.push_back(entry);
    }

    fn close_batch(&mut self) {
        self.mergeable.clear();
        self.batch = self.batch.wrapping_add(1);
    }

    /// Gives the calls' arguments something to read, if they are read.
    #[inline]
    fn partial(&mut self, read: impl FnOnce(&mut PartialCalls, &mut Batch<'_>)) {
        if let Some(partial) = &mut self.partial {
            let mut batch = Batch {
                entries: &mut self.entries,
                number: self.batch,
            };
            read(partial, &mut batch);
        }
    }

    /// A piece of text is to be shown, from `from` to the end of what its item has; it came as `whole` if it has
    /// attachments.
    fn piece(
        &mut self,
        item: Item,
        from: usize,
        whole: Option<&Event>,
        conversation: &Conversation,
    ) {
        let (Item::Text(at), Some(text)) = (item, &mut self.text) else {
            return self.plain(item, from, whole, conversation);
        };
        match text.piece(at, from, conversation) {
            Piece::Held => {}
            Piece::Plain => self.plain(item, from, whole, conversation),
            Piece::First { start, breaks } => {
                let was_held = start.is_some();
                if let Some(start) = start {
                    self.event(RunEvent::AgUi(*start));
                }
                if breaks && let Some((id, _)) = conversation.item(item) {
                    let line_break = EventRef::TextMessageContent {
                        message_id: id,
                        delta: "\n",
                    };
                    self.event(RunEvent::AgUi(line_break.to_event()));
                }
                if was_held && from > 0 {
                    self.delta(item, 0, from);
                }
                self.plain(item, from, whole, conversation);
            }
        }
    }

    fn plain(
        &mut self,
        item: Item,
        from: usize,
        whole: Option<&Event>,
        conversation: &Conversation,
    ) {
        match (whole, conversation.item(item)) {
            (Some(event), _) => self.event(RunEvent::AgUi(event.clone())),
            (None, Some((_, content))) => self.delta(item, from, content.len()),
            (None, None) => {}
        }
    }

    #[inline]
    fn delta(&mut self, item: Item, from: usize, to: usize) {
        if let Some(&(_, place)) = self.mergeable.iter().rev().find(|open| open.0 == item)
            && let Some(Entry::Delta { to: end, .. }) = self.entries.get_mut(place)
        {
            *end = to;
            return;
        }
        if self.mergeable.len() == MERGEABLE {
            self.mergeable.remove(0);
        }
        self.mergeable.push((item, self.entries.len()));
        self.entries.push_back(Entry::Delta { item, from, to });
    }
}

/// The event for a range of an item.
pub(super) fn delta_event(
    conversation: &Conversation,
    item: Item,
    from: usize,
    to: usize,
) -> Option<Event> {
    let (id, content) = conversation.item(item)?;
    let delta = content.get(from..to)?;
    let event = match item {
        Item::Text(_) => EventRef::TextMessageContent {
            message_id: id,
            delta,
        },
        Item::Reasoning(_) => EventRef::ReasoningMessageContent {
            message_id: id,
            delta,
        },
        Item::Arguments(..) => EventRef::ToolCallArgs {
            tool_call_id: id,
            delta,
        },
    };
    Some(event.to_event())
}

impl Listener for Outbox {
    #[inline]
    fn applied(&mut self, event: EventRef<'_>, applied: &Applied, conversation: &Conversation) {
        match (event, applied) {
            // What is attached to it counts all the same.
            (EventRef::Whole(event @ Event::ActivityDelta(_)), Applied::Ignored(_)) => {
                self.noted.event(event, conversation);
            }
            (_, Applied::Ignored(_)) => {}
            (EventRef::Whole(event), _) => {
                self.noted.event(event, conversation);
                if let Event::ToolCallEnd(end) = event {
                    self.partial(|partial, batch| partial.end(&end.tool_call_id, batch));
                }
                let is_shown = match &mut self.text {
                    Some(text) => text.shows(event, conversation),
                    None => true,
                };
                match (event, applied) {
                    // A turn's hops are not the turn: their beginnings and ends are the machine's business.
                    (Event::RunStarted(_) | Event::RunFinished(_) | Event::RunError(_), _) => {}
                    (Event::TextMessageContent(_), Applied::Delta { item, from })
                        if self.text.is_some() =>
                    {
                        self.piece(*item, *from, Some(event), conversation);
                    }
                    _ if is_shown => self.event(RunEvent::AgUi(event.clone())),
                    _ => {}
                }
                self.partial(|partial, batch| match (event, applied) {
                    (Event::ToolCallArgs(args), Applied::Delta { from, .. }) => {
                        let id = &args.tool_call_id;
                        partial.delta(id, *from, &args.delta, conversation, batch);
                    }
                    _ => partial.event(event, conversation, batch),
                });
            }
            (_, Applied::Delta { item, from }) => {
                let is_plain = self.text.as_ref().is_none_or(|text| text.is_shown(*from));
                if !is_plain {
                    self.piece(*item, *from, None, conversation);
                } else if let Some((_, content)) = conversation.item(*item) {
                    self.delta(*item, *from, content.len());
                }
                if let EventRef::ToolCallArgs {
                    tool_call_id,
                    delta,
                } = event
                {
                    self.partial(|partial, batch| {
                        partial.delta(tool_call_id, *from, delta, conversation, batch);
                    });
                }
            }
            (_, Applied::Whole) => {}
        }
    }

    fn moving(&mut self, conversation: &Conversation) {
        for entry in self.entries.iter_mut().skip(self.whole) {
            if let Entry::Delta { item, from, to } = *entry
                && let Some(event) = delta_event(conversation, item, from, to)
            {
                *entry = Entry::Event(Box::new(RunEvent::AgUi(event)));
            }
        }
        self.whole = self.entries.len();
        self.close_batch();
    }

    fn warning(&mut self, message: &str) {
        tracing::warn!(target: "stepwell", message, "the stream is odd");
        self.event(RunEvent::Warning {
            message: message.to_owned(),
        });
    }

    /// A breach of an extra rule is for the log alone: it changes nothing, and a journal of a version that did not look
    /// for it replays the same.
    fn finding(&mut self, finding: &Finding, frame: u64) {
        if finding.rule.is_extra() {
            let Finding { rule, message, .. } = finding;
            tracing::warn!(target: "stepwell", %rule, frame, message, "the stream is odd");
        } else {
            self.warning(&finding.in_frame(frame));
        }
    }

    fn unknown_call(&mut self, id: &str, message: &str) {
        tracing::warn!(target: "stepwell", tool_call_id = id, message, "the stream is odd");
        self.event(RunEvent::UnknownToolCall {
            tool_call_id: id.into(),
        });
    }
}
