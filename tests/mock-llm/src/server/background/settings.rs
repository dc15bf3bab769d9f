//! How an answer in the background can be read: what a script says of it.

use crate::Hop;

/// How often and how far an answer in the background is given out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Readability {
    /// The number of events after which each body is cut.
    pub(crate) drop_every: Option<usize>,
    /// The number of bodies that stream the answer, the first one included.
    pub(crate) streams: Option<usize>,
    /// The number of reads as a whole that find the answer in progress.
    pub(crate) reads: usize,
}

impl Readability {
    /// As often as a client likes.
    pub(crate) const FULL: Self = Self {
        drop_every: None,
        streams: None,
        reads: 0,
    };

    pub(crate) fn validate(&self) -> Result<(), String> {
        if self.drop_every == Some(0) {
            return Err("drop_every of 0 events would send nothing: use 1 or more".to_owned());
        }
        Ok(())
    }
}

/// An answer that the model makes in the background, for a request to OpenAI's Responses or to Gemini's Interactions with `background: true`.
impl Hop {
    /// Cuts each body after this number of events: the first body, and those that continue it. The last event counts too.
    ///
    /// ```
    /// use stepwell_mock_llm::Hop;
    ///
    /// // A client reads two events at a time, and then the answer as a whole, which is finished at the second look.
    /// let answer = Hop::new().text("It is warm and dry.").drop_every(2).streams(3).reads(1);
    /// ```
    pub const fn drop_every(mut self, events: usize) -> Self {
        self.background.drop_every = Some(events);
        self
    }

    /// Streams the answer in this number of bodies, the first one included. A later one gets HTTP 400, as the provider says
    /// it of an answer that is some minutes old. Without it any number of bodies streams the answer.
    pub const fn streams(mut self, bodies: usize) -> Self {
        self.background.streams = Some(bodies);
        self
    }

    /// Says `in_progress` to this number of reads of the answer as a whole, before they get the finished answer.
    pub const fn reads(mut self, unfinished: usize) -> Self {
        self.background.reads = unfinished;
        self
    }
}
