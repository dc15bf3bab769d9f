use super::background_answer::BackgroundAnswer;
use super::partial_calls::PartialCalls;
use super::partial_output::PartialOutput;
use super::queue::{Entry, Queue};
use super::text_layer::{Piece, TextLayer};
use crate::event::{Event, EventRef, Finding};
use crate::run::protocol::{EffectId, RunConfig, RunEvent, TextOptions};
use crate::tool::{OutputType, PartialArguments};
use crate::transcript::{Applied, Item, Transcript};
use serde::{Deserialize, Serialize};

/// Converts what happens into outputs, and keeps them until the host takes them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Presenter {
    #[serde(rename = "entries")]
    queue: Queue,
    /// The calls' arguments as they are parsed while they stream, if they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    partial: Option<PartialCalls>,
    /// The typed answer as it is parsed while it streams, if the turn has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<Box<PartialOutput>>,
    /// The layer for showing text; `None` if text is shown unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<Box<TextLayer>>,
}

impl Presenter {
    pub(crate) fn event(&mut self, event: RunEvent) {
        self.queue.event(event);
    }

    pub(crate) fn effect(&mut self, id: EffectId) {
        self.queue.push(Entry::Effect(id));
    }

    /// Asks the host to stop the effect with this id.
    pub(crate) fn stop(&mut self, id: EffectId) {
        self.queue.push(Entry::Stop(id));
    }

    /// Asks the host to cancel an answer at the provider, which makes it in the background.
    pub(crate) fn cancel_answer(&mut self, answer: BackgroundAnswer) {
        self.queue.push(Entry::CancelAnswer(answer));
    }

    /// The run has moved along the edge of this place in the table.
    pub(crate) fn moved(&mut self, edge: usize) {
        self.queue.push(Entry::Moved(edge));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(crate) fn pop(&mut self) -> Option<Entry> {
        self.queue.pop()
    }

    /// Starts parsing the calls' arguments while they stream, if configured. Arguments that were read before a restore
    /// are read again.
    pub(crate) fn read_arguments(&mut self, config: &RunConfig, transcript: &Transcript) {
        if !config.partial_arguments {
            self.partial = None;
            return;
        }
        self.partial
            .get_or_insert_default()
            .read_again(&config.tools, transcript);
    }

    /// Reads an answer of this type, in the arguments of `tool` if there is one.
    pub(crate) fn read_output(
        &mut self,
        output: Option<&OutputType>,
        tool: Option<String>,
        transcript: &Transcript,
    ) {
        let Some(output) = output else {
            self.output = None;
            return;
        };
        let reading = self.output.get_or_insert_default();
        reading.set_up(output, tool, transcript);
    }

    /// Sets the options for showing text from here on.
    pub(crate) fn show_text(&mut self, options: TextOptions) {
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

    /// Begins a hop: the calls of the hop before are over, and the text that it held back is dropped.
    pub(crate) fn begin_hop(&mut self, hop: u32) {
        self.forget_arguments();
        if let Some(output) = &mut self.output {
            output.begin_hop(hop);
        }
        if let Some(text) = &mut self.text {
            text.forget();
        }
    }

    /// The calls are over.
    pub(crate) fn forget_arguments(&mut self) {
        if let Some(partial) = &mut self.partial {
            partial.clear();
        }
    }

    pub(crate) fn partial_arguments(&self, tool_call_id: &str) -> Option<&PartialArguments> {
        self.partial.as_ref()?.get(tool_call_id)
    }

    pub(crate) fn partial_output(&self) -> Option<&PartialArguments> {
        self.output.as_ref()?.reader()
    }

    /// Reads a delta of the stream that may belong to the typed answer.
    #[inline]
    fn read_piece(&mut self, event: EventRef<'_>, from: usize, transcript: &Transcript) {
        let Some(output) = &mut self.output else {
            return;
        };
        match event {
            EventRef::TextMessageContent { message_id, delta } => {
                output.text_delta(message_id, from, delta, &mut self.queue);
            }
            EventRef::ToolCallArgs {
                tool_call_id,
                delta,
            } => output.arguments(tool_call_id, from, delta, transcript, &mut self.queue),
            _ => {}
        }
    }

    /// Shows text that starts at `from` and ends the item. `whole` is its event if the text came with attachments.
    fn piece(&mut self, item: Item, from: usize, whole: Option<&Event>, transcript: &Transcript) {
        let (Item::Text(at), Some(text)) = (item, &mut self.text) else {
            return self.plain(item, from, whole, transcript);
        };
        match text.piece(at, from, transcript) {
            Piece::Held => {}
            Piece::Plain => self.plain(item, from, whole, transcript),
            Piece::First { start, breaks } => {
                let was_held = start.is_some();
                if let Some(start) = start {
                    self.event(RunEvent::AgUi(*start));
                }
                if breaks && let Some((id, _)) = transcript.item(item) {
                    let line_break = EventRef::TextMessageContent {
                        message_id: id,
                        delta: "\n",
                    };
                    self.event(RunEvent::AgUi(line_break.to_event()));
                }
                if was_held && from > 0 {
                    self.queue.delta(item, 0, from);
                }
                self.plain(item, from, whole, transcript);
            }
        }
    }

    fn plain(&mut self, item: Item, from: usize, whole: Option<&Event>, transcript: &Transcript) {
        match (whole, transcript.item(item)) {
            (Some(event), _) => self.event(RunEvent::AgUi(event.clone())),
            (None, Some((_, content))) => self.queue.delta(item, from, content.len()),
            (None, None) => {}
        }
    }

    /// An event of the stream was applied; `conversation` is as it is after it.
    #[inline]
    pub(crate) fn applied(
        &mut self,
        event: EventRef<'_>,
        applied: &Applied,
        transcript: &Transcript,
    ) {
        match (event, applied) {
            (_, Applied::Ignored(_)) => {}
            (EventRef::Whole(event), _) => self.whole(event, applied, transcript),
            (_, Applied::Delta { item, from }) => {
                let is_plain = self.text.as_ref().is_none_or(|text| text.is_shown(*from));
                if !is_plain {
                    self.piece(*item, *from, None, transcript);
                } else if let Some((_, content)) = transcript.item(*item) {
                    self.queue.delta(*item, *from, content.len());
                }
                if let (
                    Some(partial),
                    EventRef::ToolCallArgs {
                        tool_call_id,
                        delta,
                    },
                ) = (&mut self.partial, event)
                {
                    partial.delta(tool_call_id, *from, delta, transcript, &mut self.queue);
                }
                self.read_piece(event, *from, transcript);
            }
            (_, Applied::Whole) => {}
        }
    }

    fn whole(&mut self, event: &Event, applied: &Applied, transcript: &Transcript) {
        if let (Some(partial), Event::ToolCallEnd(end)) = (&mut self.partial, event) {
            partial.end(&end.tool_call_id, &mut self.queue);
        }
        let is_shown = match &mut self.text {
            Some(text) => text.shows(event, transcript),
            None => true,
        };
        match (event, applied) {
            // A turn's hops are not the turn: their beginnings and ends are the machine's business.
            (Event::RunStarted(_) | Event::RunFinished(_) | Event::RunError(_), _) => {}
            (Event::TextMessageContent(_), Applied::Delta { item, from })
                if self.text.is_some() =>
            {
                self.piece(*item, *from, Some(event), transcript);
            }
            _ if is_shown => self.event(RunEvent::AgUi(event.clone())),
            _ => {}
        }
        if let Some(output) = &mut self.output {
            output.event(event, transcript, &mut self.queue);
            if let Applied::Delta { from, .. } = applied {
                let piece = match event {
                    Event::TextMessageContent(piece) => Some(EventRef::TextMessageContent {
                        message_id: &piece.message_id,
                        delta: &piece.delta,
                    }),
                    Event::ToolCallArgs(piece) => Some(EventRef::ToolCallArgs {
                        tool_call_id: &piece.tool_call_id,
                        delta: &piece.delta,
                    }),
                    _ => None,
                };
                if let Some(piece) = piece {
                    self.read_piece(piece, *from, transcript);
                }
            }
        }
        let Some(partial) = &mut self.partial else {
            return;
        };
        match (event, applied) {
            (Event::ToolCallArgs(args), Applied::Delta { from, .. }) => {
                let id = &args.tool_call_id;
                partial.delta(id, *from, &args.delta, transcript, &mut self.queue);
            }
            _ => partial.event(event, transcript, &mut self.queue),
        }
    }

    /// The places of messages are about to move.
    pub(crate) fn moving(&mut self, transcript: &Transcript) {
        self.queue.make_whole(transcript);
    }

    pub(crate) fn warning(&mut self, message: &str) {
        tracing::warn!(target: "stepwell", message, "the stream is odd");
        self.event(RunEvent::Warning {
            message: message.to_owned(),
        });
    }

    /// A breach of an extra rule is for the log alone: it changes nothing, and a journal of a version that did not look
    /// for it replays the same.
    pub(crate) fn finding(&mut self, finding: &Finding, frame: u64) {
        if finding.rule.is_extra() {
            let Finding { rule, message, .. } = finding;
            tracing::warn!(target: "stepwell", %rule, frame, message, "the stream is odd");
        } else {
            self.warning(&finding.in_frame(frame));
        }
    }

    pub(crate) fn unknown_call(&mut self, id: &str, message: &str) {
        tracing::warn!(target: "stepwell", tool_call_id = id, message, "the stream is odd");
        self.event(RunEvent::UnknownToolCall {
            tool_call_id: id.into(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Message;

    #[test]
    fn a_stream_is_shown_without_the_ends_of_its_hop() {
        let mut transcript = Transcript::new(vec![Message::user("m1", "Hello")]);
        let mut presenter = Presenter::default();
        for json in [
            r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
            r#"{"type":"TEXT_MESSAGE_START","messageId":"m2"}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m2","delta":"Hi"}"#,
        ] {
            let event: Event = serde_json::from_str(json).unwrap();
            let event = EventRef::from(&event);
            let applied = transcript.apply(event);
            presenter.applied(event, &applied, &transcript);
        }
        presenter.unknown_call("c1", "odd");
        let taken: Vec<_> = std::iter::from_fn(|| presenter.pop()).collect();
        assert_eq!(taken.len(), 3, "{taken:?}");
        assert!(presenter.is_empty());
    }
}
