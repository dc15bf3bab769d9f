use crate::dialect::{ApiError, Resumption, excerpt};
use crate::event::Phase;
use crate::pipeline::{Background, Listener, Pipeline, StreamEnd};
use crate::run::protocol::Failure;
use crate::transcript::Transcript;
use serde::{Deserialize, Serialize};

/// The answer to a request, as it is read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Answer {
    attempt: u32,
    /// The answer's media type; empty if it has none.
    media_type: String,
    body: Body,
    /// The start of the body until something is decoded, to report what the body is if nothing ever is.
    beginning: Vec<u8>,
    /// The reason why the stream cannot be read further.
    fault: Option<Failure>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Body {
    Stream(Box<Pipeline>),
    /// An answer that the provider makes in the background, as a whole.
    Stored {
        pipeline: Box<Pipeline>,
        body: Vec<u8>,
    },
    /// The answer's media type is not that of a stream.
    Unexpected,
}

/// The result of reading a chunk of the body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reading {
    /// More is expected.
    Open,
    /// The answer is complete with this chunk.
    Whole,
    /// The answer was complete before this chunk.
    WasWhole,
    /// The body cannot be read any further, or says that it failed.
    Over,
}

/// The maximum size of an unexpected body that is kept, in bytes.
const BEGINNING: usize = 64 << 10;

/// The maximum size of a stored answer, in bytes: an answer of 32 MiB with its escapes.
const STORED: usize = 64 << 20;

impl Answer {
    /// An answer that is open. What reads it is made by its media type, if that may be a stream's, from what read the stream
    /// before it broke off.
    pub(crate) fn new(
        attempt: u32,
        content_type: Option<&str>,
        broken: Option<Box<Pipeline>>,
        pipeline: impl FnOnce(Option<Box<Pipeline>>, &str) -> Box<Pipeline>,
    ) -> Self {
        let media_type = content_type
            .unwrap_or_default()
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        let body = match (broken, media_type.as_str()) {
            (Some(mut pipeline), "application/json") if pipeline.background().is_some() => {
                pipeline.reopen_whole();
                Body::Stored {
                    pipeline,
                    body: Vec::new(),
                }
            }
            (_, "text/html" | "application/json") => Body::Unexpected,
            (broken, media_type) => Body::Stream(pipeline(broken, media_type)),
        };
        Self {
            attempt,
            media_type,
            body,
            beginning: Vec::new(),
            fault: None,
        }
    }

    /// Returns the attempt, from 0.
    pub(crate) fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Returns the provider's id of the answer, if known.
    pub(crate) fn id(&self) -> Option<&str> {
        self.pipeline()?.response_id()
    }

    /// Returns the provider's id of the answer, if the provider makes it in the background.
    pub(crate) fn background_id(&self) -> Option<&str> {
        self.pipeline()?.background()?.id()
    }

    fn pipeline(&self) -> Option<&Pipeline> {
        match &self.body {
            Body::Stream(pipeline) | Body::Stored { pipeline, .. } => Some(pipeline),
            Body::Unexpected => None,
        }
    }

    /// Takes bytes of the body, of any number and cut anywhere.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        bytes: &[u8],
        transcript: &mut Transcript,
        listener: &mut dyn Listener,
    ) -> Reading {
        if self.fault.is_some() {
            return Reading::Over;
        }
        let pipeline = match &mut self.body {
            Body::Stream(pipeline) => pipeline,
            Body::Stored { body, .. } => return keep(body, STORED, bytes),
            Body::Unexpected => return keep(&mut self.beginning, BEGINNING, bytes),
        };
        let (frames, was_over) = (pipeline.frames(), pipeline.is_over());
        let received = pipeline.receive(bytes, transcript, listener);
        if !pipeline.has_begun() {
            let _ = keep(&mut self.beginning, BEGINNING, bytes);
        } else if !self.beginning.is_empty() {
            self.beginning = Vec::new();
        }
        if let Err(error) = received {
            self.fault = Some(Failure::of_stream(&error));
            return Reading::Over;
        }
        if pipeline.phase() == Phase::Errored {
            Reading::Over
        } else if !pipeline.is_done() {
            Reading::Open
        } else if !was_over && pipeline.frames() > frames {
            Reading::Whole
        } else {
            Reading::WasWhole
        }
    }

    /// Ends the body. Returns `None` for an answer as a whole that the provider has not finished.
    ///
    /// # Errors
    /// The body cannot be read, or is not a stream.
    pub(crate) fn end(
        &mut self,
        transcript: &mut Transcript,
        listener: &mut dyn Listener,
    ) -> Result<Option<StreamEnd>, Failure> {
        let pipeline = match &mut self.body {
            Body::Stream(pipeline) => pipeline,
            Body::Stored { pipeline, body } => {
                let read = pipeline.receive_stored(body, transcript, listener);
                return read.map_err(|error| Failure::of_stream(&error));
            }
            Body::Unexpected => return Err(self.unexpected()),
        };
        match pipeline.end(transcript, listener) {
            Err(error) => Err(Failure::of_stream(&error)),
            Ok(StreamEnd::Truncated) if self.is_no_stream() => Err(self.unexpected()),
            Ok(end) => Ok(Some(end)),
        }
    }

    /// Takes the reason why the stream cannot be read further, if there is one.
    pub(crate) fn take_fault(&mut self) -> Option<Failure> {
        self.fault.take()
    }

    /// Returns whether a frame of the stream was read.
    pub(crate) fn has_begun(&self) -> bool {
        self.pipeline().is_none_or(Pipeline::has_begun)
    }

    /// Returns whether the app can have seen anything of the answer.
    pub(crate) fn has_content(&self) -> bool {
        self.pipeline().is_some_and(Pipeline::has_content)
    }

    /// Returns whether the answer is complete, so that a connection that breaks now loses nothing.
    pub(crate) fn is_done(&self) -> bool {
        let is_over = match &self.body {
            Body::Stream(pipeline) => {
                pipeline.has_begun() && (pipeline.phase() != Phase::Active || pipeline.is_done())
            }
            Body::Stored { .. } => false,
            Body::Unexpected => true,
        };
        is_over || self.fault.is_some()
    }

    /// Returns whether the provider has said that the answer is over.
    pub(crate) fn is_finished(&self) -> bool {
        self.pipeline().is_some_and(Pipeline::is_over)
    }

    /// Returns whether a body that has ended as it should broke off in the midst of the answer.
    pub(crate) fn is_broken_off(&self) -> bool {
        let pipeline = match &self.body {
            Body::Stream(pipeline) => pipeline,
            Body::Stored { body, .. } => {
                return serde_json::from_slice::<serde::de::IgnoredAny>(body).is_err();
            }
            Body::Unexpected => return false,
        };
        pipeline.phase() == Phase::Active && !pipeline.is_done() && pipeline.is_between_frames()
    }

    /// Returns whether a backend that resumes streams so can resume this one.
    pub(crate) fn can_resume(&self, how: Resumption) -> bool {
        let Some(pipeline) = self.pipeline() else {
            return false;
        };
        match how {
            Resumption::LastEventId => pipeline.last_event_id().is_some(),
            Resumption::Replay | Resumption::Snapshot => true,
            Resumption::Background => pipeline.background().is_some_and(Background::can_resume),
            _ => false,
        }
    }

    /// Returns whether something has come since the stream was last opened.
    pub(crate) fn has_gone_on(&self) -> bool {
        self.pipeline().is_some_and(Pipeline::has_gone_on)
    }

    /// Returns the pipeline that reads the stream, so that it can continue once the stream is open again.
    pub(crate) fn break_off(&mut self) -> Option<Box<Pipeline>> {
        match std::mem::replace(&mut self.body, Body::Unexpected) {
            Body::Stream(mut pipeline) | Body::Stored { mut pipeline, .. } => {
                pipeline.reconnect();
                Some(pipeline)
            }
            Body::Unexpected => None,
        }
    }

    /// Puts back the pipeline of a stream that is not opened again after all.
    pub(crate) fn put_back(&mut self, pipeline: Box<Pipeline>) {
        self.body = Body::Stream(pipeline);
    }

    /// Returns whether the body, of which nothing could be decoded, looks like a page or a JSON text: some servers send
    /// those under a stream's media type, or under none.
    fn is_no_stream(&self) -> bool {
        let start = self.beginning.trim_ascii_start().first();
        matches!(start, Some(b'<' | b'{' | b'['))
    }

    /// Returns the failure for an answer that is not a stream.
    fn unexpected(&self) -> Failure {
        let body = serde_json::from_slice::<serde_json::Value>(&self.beginning);
        if body.is_ok_and(|body| body.get("error").is_some()) {
            return Failure::Api {
                error: ApiError::from_body(200, &self.beginning),
            };
        }
        Failure::UnexpectedBody {
            content_type: self.media_type.clone(),
            excerpt: excerpt(&self.beginning),
        }
    }
}

/// Keeps the beginning of a body. The body is not read further once there is no room.
fn keep(beginning: &mut Vec<u8>, most: usize, bytes: &[u8]) -> Reading {
    let room = most.saturating_sub(beginning.len());
    beginning.extend_from_slice(&bytes[..bytes.len().min(room)]);
    if room > 0 {
        Reading::Open
    } else {
        Reading::Over
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{Dialect, HopIds};

    fn answer(content_type: Option<&str>) -> Answer {
        let pipeline = Pipeline::new(Dialect::OpenAiChat, HopIds::default(), Default::default());
        Answer::new(0, content_type, None, |_, _| Box::new(pipeline))
    }

    #[test]
    fn it_says_when_all_that_counts_was_said() {
        let mut answer = answer(Some("Text/Event-Stream; charset=utf-8"));
        let mut transcript = Transcript::default();
        assert!(!answer.has_begun() && !answer.is_done());
        let piece = b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n";
        let read = answer.receive(piece, &mut transcript, &mut ());
        assert_eq!(read, Reading::Open);
        assert!(answer.has_begun() && answer.has_content() && !answer.is_done());
        assert!(answer.is_broken_off() && !answer.can_resume(Resumption::Never));
        let last = b"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
        let read = answer.receive(last, &mut transcript, &mut ());
        assert_eq!(read, Reading::Whole);
        let end = answer.end(&mut transcript, &mut ());
        assert_eq!(end, Ok(Some(StreamEnd::Finished)));
    }

    #[test]
    fn a_page_is_no_answer() {
        let mut transcript = Transcript::default();
        for content_type in [Some("text/html"), None] {
            let mut answer = answer(content_type);
            let read = answer.receive(b"<html>busy</html>", &mut transcript, &mut ());
            assert_eq!(read, Reading::Open);
            let end = answer.end(&mut transcript, &mut ());
            assert!(
                matches!(end, Err(Failure::UnexpectedBody { .. })),
                "{end:?}"
            );
        }
    }
}
