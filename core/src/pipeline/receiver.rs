//! Checks, applies and reports the events of one frame.

use super::announced::{Announced, Heard};
use super::background::Background;
use super::joined::{Joined, Part, Shown};
use super::listener::Listener;
use super::meter::{Meter, changeable};
use super::passed::Passed;
use super::rejoin::Rejoin;
use crate::dialect::{Decode, DecodeError, Decoder, Sink};
use crate::event::{
    End, Event, EventRef, Finding, REPLACED, Rule, ToolCallArgs, ToolCallEnd, Verdict, Verifier,
    Violation,
};
use crate::transcript::{Applied, Transcript};
use crate::wire::Frame;
use serde::de::IgnoredAny;

/// The warning about a call that is announced again, with other arguments.
const OTHER_ARGUMENTS: &str =
    "a tool call was announced again with other arguments: these count from now on";

/// Takes the events of one frame to the conversation and to the listener.
pub(super) struct Receiver<'a> {
    pub(super) verifier: &'a mut Verifier,
    pub(super) transcript: &'a mut Transcript,
    pub(super) listener: &'a mut dyn Listener,
    pub(super) frame: u64,
    pub(super) meter: &'a mut Meter,
    pub(super) has_content: &'a mut bool,
    pub(super) rejoin: Option<&'a mut Rejoin>,
    pub(super) background: Option<&'a mut Background>,
    pub(super) announced: Option<&'a mut Announced>,
    pub(super) joined: &'a mut Joined,
}

impl Sink for Receiver<'_> {
    #[inline]
    fn event(&mut self, event: EventRef<'_>) -> Result<(), Violation> {
        if self.rejoin.is_some() {
            return self.rejoined(event);
        }
        self.judged(event)
    }

    fn warning(&mut self, message: &str) {
        // A repeated event has caused its warning before.
        if !self.rejoin.as_deref().is_some_and(Rejoin::is_behind) {
            self.listener.warning(message);
        }
    }

    fn is_whole(&self, tool_call_id: &str) -> bool {
        let call = self.transcript.call_of_history(tool_call_id);
        call.is_some_and(|(_, call)| {
            serde_json::from_str::<IgnoredAny>(&call.function.arguments).is_ok()
        })
    }
}

impl Receiver<'_> {
    #[inline]
    pub(super) fn read(
        &mut self,
        decoder: &mut Decoder,
        frame: Frame<'_>,
    ) -> Result<(), DecodeError> {
        if self.background.is_some() {
            return self.read_in_background(decoder, frame);
        }
        decoder.frame(frame, self)?;
        if self.rejoin.is_none() && self.meter.is_within() {
            return Ok(());
        }
        self.go_on()
    }

    /// Reads a frame of an answer that the provider makes in the background, unless it was read before.
    #[cold]
    fn read_in_background(
        &mut self,
        decoder: &mut Decoder,
        frame: Frame<'_>,
    ) -> Result<(), DecodeError> {
        if let Some(background) = &mut self.background
            && !background.take(frame, decoder)
        {
            return Ok(());
        }
        decoder.frame(frame, self)?;
        if let Some(background) = &mut self.background {
            background.keep_id(decoder);
        }
        self.go_on()
    }

    /// Checks whether the stream may continue after a frame.
    #[cold]
    fn go_on(&self) -> Result<(), DecodeError> {
        self.meter.check()?;
        match &self.rejoin {
            Some(rejoin) => rejoin.agrees(),
            None => Ok(()),
        }
    }

    #[inline]
    fn judged(&mut self, event: EventRef<'_>) -> Result<(), Violation> {
        let (frame, listener) = (self.frame, &mut *self.listener);
        let found = &mut |finding| tell(&finding, frame, event, listener);
        if self.verifier.check(event, found)? == Verdict::Drop {
            return Ok(());
        }
        let is_announced = match (&self.announced, event) {
            (Some(announced), EventRef::ToolCallArgs { .. }) => !announced.is_empty(),
            (Some(_), EventRef::Whole(_)) => true,
            _ => false,
        };
        match is_announced {
            true => self.hear(event),
            false => self.apply(event),
        }
        Ok(())
    }

    /// An event of an agent that may announce calls again, or continue what a snapshot has in part.
    #[cold]
    fn hear(&mut self, event: EventRef<'_>) {
        let heard = match &mut self.announced {
            Some(announced) => announced.hear(event, self.transcript),
            None => Heard::New,
        };
        match heard {
            Heard::New => {
                let shown = match event {
                    EventRef::Whole(event) => {
                        let order = self.verifier.order();
                        self.joined.hear(event, order, self.transcript)
                    }
                    _ => None,
                };
                match shown {
                    Some(shown) => self.apply_joined(event, &shown),
                    None => self.apply(event),
                }
            }
            Heard::Before => {}
            Heard::Other(replaced) => {
                self.listener.warning(OTHER_ARGUMENTS);
                self.apply((&*replaced).into());
            }
        }
    }

    /// An event of a stream that can be joined again.
    #[cold]
    fn rejoined(&mut self, event: EventRef<'_>) -> Result<(), Violation> {
        let Some(rejoin) = &mut self.rejoin else {
            return Ok(());
        };
        match rejoin.pass(event, self.verifier.order(), self.transcript) {
            Passed::Dropped => Ok(()),
            Passed::Rest(rest) => self.judged((&*rest).into()),
            Passed::After(before) => {
                for event in &before {
                    self.judged(event.into())?;
                }
                self.judged(event)
            }
            Passed::Synced => {
                let asked = self.transcript.asked();
                self.judged(event)?;
                // The snapshot brought calls that began in this hop while the stream was broken.
                self.transcript.adopt_calls_beyond(asked);
                Ok(())
            }
            Passed::Taken => self.judged(event),
        }
    }

    /// An event after which the listener is given parts of what a snapshot has.
    #[cold]
    fn apply_joined(&mut self, event: EventRef<'_>, shown: &Shown) {
        let snapshot = EventRef::Whole(&shown.snapshot);
        if matches!(event, EventRef::Whole(Event::MessagesSnapshot(_))) {
            self.apply_as(event, snapshot);
        } else {
            self.listener.moving(self.transcript);
            self.listener
                .applied(snapshot, &Applied::Whole, self.transcript);
            self.apply(event);
        }
        for (part, from) in &shown.parts {
            self.show(part, *from);
        }
    }

    /// Gives the listener what this item has from `from` on, which it was not given.
    fn show(&mut self, part: &Part, from: usize) {
        let Some(item) = part.item(self.transcript) else {
            return;
        };
        let content = self.transcript.item(item);
        if let Some(delta) = content.and_then(|(_, content)| content.get(from..)) {
            let applied = Applied::Delta { item, from };
            *self.has_content = true;
            self.listener
                .applied(part.piece(delta), &applied, self.transcript);
        }
    }

    #[inline]
    fn apply(&mut self, event: EventRef<'_>) {
        self.apply_as(event, event);
    }

    /// Applies an event, and passes another to the listener.
    #[inline]
    fn apply_as(&mut self, event: EventRef<'_>, shown: EventRef<'_>) {
        // An event without room is not applied, nor is any after it: the frame is the stream's last.
        if !self.meter.takes(event) {
            return;
        }
        let applied = match event {
            EventRef::Whole(event) => self.apply_whole(event),
            delta => {
                *self.has_content = true;
                self.transcript.apply(delta)
            }
        };
        if let Applied::Ignored(reason) = &applied {
            self.listener.warning(reason);
        }
        self.listener.applied(shown, &applied, self.transcript);
    }

    fn apply_whole(&mut self, event: &Event) -> Applied {
        *self.has_content |= is_content(event);
        let is_moving = match event {
            Event::ToolCallResult(_) | Event::MessagesSnapshot(_) | Event::ActivitySnapshot(_) => {
                true
            }
            Event::Custom(event) => event.name == REPLACED,
            _ => false,
        };
        if is_moving {
            self.listener.moving(self.transcript);
        }
        let before = changeable(event, self.transcript);
        let applied = self.transcript.apply(EventRef::Whole(event));
        if let Some(before) = before {
            let after = changeable(event, self.transcript);
            self.meter.replaced(before, after.unwrap_or_default());
        }
        applied
    }

    pub(super) fn end(&mut self) -> Result<End, Violation> {
        let (frame, listener) = (self.frame, &mut *self.listener);
        self.verifier
            .end(&mut |finding| listener.finding(&finding, frame))
    }
}

/// Returns whether an event brings something that an app can have shown: not that the run, or a message, begins or is
/// over.
fn is_content(event: &Event) -> bool {
    !matches!(
        event,
        Event::RunStarted(_)
            | Event::RunFinished(_)
            | Event::RunError(_)
            | Event::TextMessageStart(_)
            | Event::ReasoningStart(_)
            | Event::ReasoningMessageStart(_)
    )
}

/// Reports a finding. A delta of a call that is not open is reported with the call's id, so that the host can identify
/// it.
#[cold]
fn tell(finding: &Finding, frame: u64, event: EventRef<'_>, listener: &mut dyn Listener) {
    let call: Option<&str> = match event {
        EventRef::ToolCallArgs { tool_call_id, .. } => Some(tool_call_id),
        EventRef::Whole(
            Event::ToolCallArgs(ToolCallArgs { tool_call_id, .. })
            | Event::ToolCallEnd(ToolCallEnd { tool_call_id, .. }),
        ) => Some(tool_call_id),
        _ => None,
    };
    match call {
        Some(call) if finding.rule == Rule::O9 => {
            let Finding { rule, message, .. } = finding;
            listener.unknown_call(call, &format!("{rule}: {message}"));
        }
        _ => listener.finding(finding, frame),
    }
}
