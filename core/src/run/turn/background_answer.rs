//! The answer that the provider makes in the background: it is read on after a break, and cancelled when it is left.
//!
//! Owns `background`, and the `Background` of the `broken_stream`. The id of the answer is recorded as soon as it is known, so
//! that a host that dies afterwards does not lose the answer.

use super::Turn;
use crate::dialect::{HttpRequest, Resumption, StoredRequest};
use crate::run::parts::{Answer, BackgroundAnswer};
use crate::run::protocol::{BlockContent, Credentials, TimerKey};
use std::time::Duration;

/// The pause between two reads of an answer that the provider no longer streams.
const READ_PAUSE: Duration = Duration::from_secs(5);

/// The statuses of refusals that say nothing about the answer: the request may be sent again as it is.
const NOT_ABOUT_THE_ANSWER: [u16; 4] = [401, 403, 408, 429];

impl Turn {
    /// Keeps the provider's id of an answer that is made in the background, once it is known.
    #[inline]
    pub(super) fn note_background(&mut self, answer: &Answer) {
        let how = self.setup.config().endpoint.quirks.resumption;
        if how == Resumption::Background && self.background.is_none() && !answer.is_done() {
            self.keep_background(answer);
        }
    }

    #[cold]
    fn keep_background(&mut self, answer: &Answer) {
        let Some(id) = answer.background_id() else {
            return;
        };
        self.background = Some(BackgroundAnswer {
            id: id.to_owned(),
            hop: self.hop,
            model: self.route.model(),
        });
        let response_id = id.to_owned();
        self.record(BlockContent::AnswerStored { response_id });
    }

    /// Notes that the provider has finished its answer.
    pub(super) fn background_is_over(&mut self) {
        self.background = None;
    }

    /// Leaves an answer: the provider need not finish it.
    pub(super) fn leave_background(&mut self) {
        if let Some(answer) = self.background.take() {
            self.presenter.cancel_answer(answer);
        }
    }

    /// Returns the request that reads on the answer whose stream broke off, if the provider makes it in the background.
    pub(in crate::run) fn background_request(&self) -> Option<HttpRequest> {
        let background = self.broken_stream()?.background()?;
        let id = background.id()?;
        let request = match background.last() {
            Some(after) if !background.is_read_whole() => StoredRequest::Stream { id, after },
            _ => StoredRequest::Read { id },
        };
        let endpoint = self.endpoint();
        endpoint.dialect.encoder().encode_stored(&endpoint, request)
    }

    /// Returns the request that cancels an answer at the provider; `None` if the host's credentials for it are gone.
    pub(in crate::run) fn cancel_request(
        &mut self,
        answer: &BackgroundAnswer,
    ) -> Option<HttpRequest> {
        let base = self.setup.base();
        let config = base.asking(answer.model);
        let mut endpoint = config.endpoint;
        if config.credentials == Credentials::Host {
            let Some(given) = self.access.kept_for(answer.model) else {
                self.warn(
                    "the answer goes on at the provider: its credentials are gone".to_owned(),
                );
                return None;
            };
            endpoint = given.over(endpoint);
        }
        let request = StoredRequest::Cancel { id: &answer.id };
        endpoint.dialect.encoder().encode_stored(&endpoint, request)
    }

    /// Handles a refusal to stream an answer from where its stream broke off. Returns whether the answer is read as a whole
    /// instead: providers stream an answer again for some minutes only.
    pub(in crate::run) fn read_whole_after(&mut self, status: u16) -> bool {
        let is_about_answer =
            (400..500).contains(&status) && !NOT_ABOUT_THE_ANSWER.contains(&status);
        let stream = self.broken_stream.as_deref_mut();
        match stream.and_then(|stream| stream.background_mut()) {
            Some(background) if is_about_answer && !background.is_read_whole() => {
                background.read_whole();
                true
            }
            _ => false,
        }
    }

    /// Waits before an answer that the provider has not finished is read again. Returns whether it is.
    pub(in crate::run) fn read_later(&mut self, answer: &mut Answer) -> bool {
        self.broken_stream = answer.break_off();
        let stream = self.broken_stream.as_deref_mut();
        let may_read = stream
            .and_then(|stream| stream.background_mut())
            .is_some_and(|background| background.count_read());
        if may_read {
            self.tries.restart();
            self.clocks.set(TimerKey::Retry, Some(READ_PAUSE));
        } else if let Some(stream) = self.broken_stream.take() {
            answer.put_back(stream);
        }
        may_read
    }
}
