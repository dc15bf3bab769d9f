//! One stream, from bytes to the conversation: framer, decoder, order check and reducer behind one call.

mod announced;
mod background;
mod joined;
mod listener;
mod meter;
mod passed;
mod receiver;
mod rejoin;
mod replay;
mod resync;

use crate::dialect::{Decode, DecodeError, Decoder, Dialect, Endpoint, HopIds};
use crate::event::{End, ExtraRules, Phase, Verification, Verifier};
use crate::transcript::Transcript;
use crate::wire::{FrameLimits, Framer};
use announced::Announced;
pub(crate) use background::Background;
use joined::Joined;
pub use listener::Listener;
pub use meter::AnswerLimits;
use meter::Meter;
use receiver::Receiver;
use rejoin::Rejoin;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The layers that one stream goes through. Plain data: serialising it in mid-stream, in mid-frame too, loses nothing.
///
/// ```
/// use stepwell_core::transcript::Transcript;
/// use stepwell_core::dialect::{Dialect, HopIds};
/// use stepwell_core::pipeline::{Pipeline, StreamEnd};
///
/// let mut pipeline = Pipeline::new(Dialect::OpenAiChat, HopIds::default(), Default::default());
/// let mut transcript = Transcript::default();
/// for chunk in [
///     "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"He",
///     "llo\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
/// ] {
///     pipeline.receive(chunk.as_bytes(), &mut transcript, &mut ())?;
/// }
/// assert_eq!(pipeline.end(&mut transcript, &mut ())?, StreamEnd::Finished);
/// assert_eq!(transcript.text(), "Hello");
/// # Ok::<(), stepwell_core::pipeline::StreamError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pipeline {
    framer: Framer,
    decoder: Decoder,
    #[serde(rename = "order")]
    verifier: Verifier,
    frames: u64,
    /// The size of the answer so far.
    #[serde(default)]
    meter: Meter,
    /// Whether an event was applied that brings something to show.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    has_content: bool,
    /// The number of frames before the present body.
    #[serde(default, skip_serializing_if = "crate::zero::is_zero")]
    frames_before: u64,
    /// How the stream resumes after a break, unless it simply continues after the last event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rejoin: Option<Box<Rejoin>>,
    /// The place in an answer that the provider makes in the background.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    background: Option<Box<Background>>,
    /// The calls that an agent announces again; nothing for a model's stream, whose ids are its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    announced: Option<Announced>,
    /// The items that a snapshot of an agent's run has brought in part, and that the stream may continue.
    #[serde(default, skip_serializing_if = "Joined::is_empty")]
    joined: Joined,
}

/// The judge of a dialect's events: an agent is held to the protocol.
fn verifier(dialect: Dialect) -> Verifier {
    match dialect {
        Dialect::AgUi => Verifier::new(Verification::Protocol, ExtraRules::Off),
        _ => Verifier::of_translation(),
    }
}

/// The end of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StreamEnd {
    /// The peer reported that the run is finished.
    Finished,
    /// The peer reported that the run failed.
    Errored,
    /// The body ended before the peer reported either.
    Truncated,
}

/// The reason why a stream cannot be read further, and the place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("frame {frame} of the stream: {source}")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct StreamError {
    /// The frame, from 1.
    pub frame: u64,
    /// The error.
    pub source: DecodeError,
}

impl Pipeline {
    /// The layers for one stream of `dialect`.
    #[must_use]
    pub fn new(dialect: Dialect, ids: HopIds, limits: FrameLimits) -> Self {
        Self {
            framer: dialect.framer(limits),
            decoder: Decoder::new(dialect, ids),
            verifier: verifier(dialect),
            frames: 0,
            meter: Meter::default(),
            has_content: false,
            frames_before: 0,
            rejoin: None,
            background: None,
            announced: (dialect == Dialect::AgUi).then(Announced::default),
            joined: Joined::default(),
        }
    }

    /// The layers for what an endpoint answers: with the framing and encoding of the body's media type (`type/subtype`
    /// in lower case), and, for an AG-UI agent, with what its options say.
    #[must_use]
    pub fn for_answer(
        endpoint: &Endpoint,
        media_type: &str,
        ids: HopIds,
        limits: FrameLimits,
    ) -> Self {
        let dialect = endpoint.dialect;
        let request = (ids.thread_id.clone(), ids.run_id.clone());
        let mut pipeline = Self::of_media_type(dialect, media_type, ids, limits);
        pipeline.rejoin = Rejoin::by(endpoint.quirks.resumption);
        pipeline.background = Background::by(endpoint.quirks.resumption);
        if dialect != Dialect::AgUi {
            let tags = endpoint.quirks.think_tags;
            pipeline.decoder = pipeline.decoder.with_think_tags(tags);
            return pipeline;
        }
        let options = endpoint.quirks.ag_ui;
        pipeline.decoder = pipeline.decoder.keeping_unknown(options.keeps_unknown);
        let verifier = Verifier::new(options.verification, options.extra_rules);
        pipeline.verified_by(verifier.requested(request.0, request.1))
    }

    /// The layers for a body of this media type (`type/subtype` in lower case). One that the dialect does not know is
    /// read as the dialect's own.
    #[must_use]
    pub fn of_media_type(
        dialect: Dialect,
        media_type: &str,
        ids: HopIds,
        limits: FrameLimits,
    ) -> Self {
        Self {
            framer: dialect.framer_of(media_type, limits),
            decoder: Decoder::of_media_type(dialect, media_type, ids),
            verifier: verifier(dialect),
            frames: 0,
            meter: Meter::default(),
            has_content: false,
            frames_before: 0,
            rejoin: None,
            background: None,
            announced: (dialect == Dialect::AgUi).then(Announced::default),
            joined: Joined::default(),
        }
    }

    /// The same with another judge of the order of events.
    #[must_use]
    pub fn verified_by(mut self, verifier: Verifier) -> Self {
        self.verifier = verifier;
        self
    }

    /// The same for an answer that may bring so much.
    #[must_use]
    pub fn limited_to(mut self, limits: AnswerLimits) -> Self {
        self.meter = Meter::new(limits);
        self
    }

    /// Takes a chunk of the body, of any size and cut anywhere.
    ///
    /// # Errors
    /// The stream violates its format or the protocol, or exceeds the limits of an answer: it is over. Everything
    /// before that is kept.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        transcript: &mut Transcript,
        listener: &mut dyn Listener,
    ) -> Result<(), StreamError> {
        let (framer, decoder, frames, mut receiver) = self.split(&mut *transcript, listener);
        let received = framer.receive(bytes, |frame| {
            *frames += u64::from(!frame.is_stray);
            receiver.frame = *frames;
            receiver.read(decoder, frame)
        });
        self.note_usage(transcript);
        received.map_err(|source| StreamError {
            frame: self.frames,
            source,
        })
    }

    /// Returns the layers before the events, the number of frames so far, and the layers after.
    fn split<'a>(
        &'a mut self,
        transcript: &'a mut Transcript,
        listener: &'a mut dyn Listener,
    ) -> (&'a mut Framer, &'a mut Decoder, &'a mut u64, Receiver<'a>) {
        let receiver = Receiver {
            verifier: &mut self.verifier,
            transcript,
            listener,
            frame: self.frames,
            meter: &mut self.meter,
            has_content: &mut self.has_content,
            rejoin: self.rejoin.as_deref_mut(),
            background: self.background.as_deref_mut(),
            announced: self.announced.as_mut(),
            joined: &mut self.joined,
        };
        (
            &mut self.framer,
            &mut self.decoder,
            &mut self.frames,
            receiver,
        )
    }

    /// The provider's id of the answer, if the provider has sent one.
    pub(crate) fn response_id(&self) -> Option<&str> {
        self.decoder.response_id()
    }

    /// Keeps the usage of the answer so far, for a stream that does not reach its end.
    fn note_usage(&mut self, transcript: &mut Transcript) {
        if !self.is_over()
            && let Some(usage) = self.decoder.usage()
        {
            transcript.note_usage(usage);
        }
    }

    /// The body has ended.
    ///
    /// # Errors
    /// The end of the stream violates the protocol.
    pub fn end(
        &mut self,
        transcript: &mut Transcript,
        listener: &mut dyn Listener,
    ) -> Result<StreamEnd, StreamError> {
        let (framer, decoder, frames, mut receiver) = self.split(&mut *transcript, listener);
        let is_cut = framer.is_cut();
        if is_cut {
            receiver
                .listener
                .warning("the body ended within a frame, whose rest is lost");
        }
        let last = framer.finish(|frame| {
            *frames += u64::from(!frame.is_stray);
            receiver.frame = *frames;
            receiver.read(decoder, frame)
        });
        match last {
            // The rest of a frame that was cut off: that the stream is truncated says it all.
            Err(DecodeError::Json { reason, .. }) => {
                receiver
                    .listener
                    .warning(&format!("the body ended within a frame: {reason}"));
            }
            other => other.map_err(|source| StreamError {
                frame: *frames,
                source,
            })?,
        }
        let closed = decoder.end(&mut receiver);
        let closed = closed.and_then(|()| Ok(receiver.meter.check()?));
        closed.map_err(|source| StreamError {
            frame: *frames,
            source,
        })?;
        let end = receiver.end().map_err(|violation| StreamError {
            frame: *frames,
            source: violation.into(),
        })?;
        self.note_usage(transcript);
        Ok(match end {
            // The missing rest may have reported that the run failed after all.
            End::Finished if is_cut => StreamEnd::Truncated,
            End::Finished => StreamEnd::Finished,
            End::Errored => StreamEnd::Errored,
            End::Truncated(_) => StreamEnd::Truncated,
        })
    }

    /// Reads an answer that the provider makes in the background as a whole, and applies what no event has brought. Returns the
    /// end of the stream; `None` if the provider has not finished the answer.
    ///
    /// # Errors
    /// The body is no such answer, or violates the protocol.
    pub(crate) fn receive_stored(
        &mut self,
        body: &[u8],
        transcript: &mut Transcript,
        listener: &mut dyn Listener,
    ) -> Result<Option<StreamEnd>, StreamError> {
        let (_, decoder, frames, mut receiver) = self.split(&mut *transcript, &mut *listener);
        *frames += 1;
        receiver.frame = *frames;
        let read = decoder.stored(body, &mut receiver);
        let read = read.and_then(|is_finished| {
            receiver
                .meter
                .check()
                .map(|()| is_finished)
                .map_err(Into::into)
        });
        let is_finished = read.map_err(|source| StreamError {
            frame: *frames,
            source,
        })?;
        if !is_finished {
            return Ok(None);
        }
        self.end(transcript, listener).map(Some)
    }

    /// Returns the verifier, which tracks the stream's place in the order of events.
    #[must_use]
    pub fn verifier(&self) -> &Verifier {
        &self.verifier
    }

    /// Returns whether a frame of the stream has been decoded.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.frames > 0
    }

    /// Returns whether the stream has brought anything that an app can have shown: text, a call, state, a custom event.
    /// The start of the run or of a message is not content, so an answer without any can be asked for again.
    #[must_use]
    pub fn has_content(&self) -> bool {
        self.has_content
    }

    /// Returns the id of the last event, if the stream has ids that fit into a `Last-Event-ID` header.
    #[must_use]
    pub fn last_event_id(&self) -> Option<&str> {
        let id = std::str::from_utf8(self.framer.last_event_id()).ok()?;
        let fits = !id.is_empty() && id.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        fits.then_some(id)
    }

    /// Returns the wait that the stream asks for before it is opened again, if it does.
    #[must_use]
    pub fn wanted_wait(&self) -> Option<Duration> {
        self.framer.retry()
    }

    /// Returns whether no incomplete frame waits for its rest.
    #[must_use]
    pub fn is_between_frames(&self) -> bool {
        self.framer.is_between_frames()
    }

    /// Notes that the connection broke. The start of an unfinished frame is dropped, since the next body does not
    /// continue it.
    pub fn reconnect(&mut self) {
        self.framer.restart();
    }

    /// Continues with another body where the one before broke off. If the endpoint's bodies start from the beginning,
    /// the body has this media type (`type/subtype` in lower case). `ids` are those that the stream began with.
    pub fn reopen(&mut self, dialect: Dialect, media_type: &str, ids: HopIds, limits: FrameLimits) {
        self.frames_before = self.frames;
        if let Some(rejoin) = &mut self.rejoin {
            self.framer = dialect.framer_of(media_type, limits);
            let keeps_unknown = self.decoder.keeps_unknown();
            self.decoder = Decoder::of_media_type(dialect, media_type, ids)
                .keeping_unknown(keeps_unknown)
                .with_think_tags(self.decoder.think_tags());
            rejoin.reopen();
        }
        if let Some(background) = &mut self.background {
            background.reopen();
        }
    }

    /// Continues with a body that has the answer as a whole, which the provider makes in the background.
    pub(crate) fn reopen_whole(&mut self) {
        self.frames_before = self.frames;
        if let Some(background) = &mut self.background {
            background.reopen();
        }
    }

    /// Returns the place in an answer that the provider makes in the background.
    pub(crate) fn background(&self) -> Option<&Background> {
        self.background.as_deref()
    }

    /// As [`background`](Self::background), to change it.
    pub(crate) fn background_mut(&mut self) -> Option<&mut Background> {
        self.background.as_deref_mut()
    }

    /// Returns whether the body that is read has brought anything that no body before it had.
    #[must_use]
    pub fn has_gone_on(&self) -> bool {
        match (&self.rejoin, &self.background) {
            (Some(rejoin), _) => rejoin.has_gone_on(),
            (None, Some(background)) => background.has_gone_on(),
            (None, None) => self.frames > self.frames_before,
        }
    }

    /// Returns the number of frames that were read.
    pub(crate) fn frames(&self) -> u64 {
        self.frames
    }

    /// Returns whether the answer is complete, so that the body may end here: the format has reported the end, or the
    /// model its stop reason.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.is_over() || self.decoder.is_done()
    }

    /// Returns whether the format has reported that the run is over.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.phase(), Phase::Finished | Phase::Errored)
    }

    /// Returns the phase of the stream.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.verifier.order().phase()
    }
}
