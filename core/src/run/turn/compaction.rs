//! Compaction: what requests no longer carry of the conversation, and the summary that a model is asked for.
//!
//! Owns `draft`. While there is one, `setup` has the model that writes the summary, and the requests of the hop are for the
//! summary. The attempts of a hop are numbered through: the hop's own request follows those for its summary.

use super::Turn;
use crate::MessageId;
use crate::dialect::{Dialect, SentMessage};
use crate::event::TokenUsage;
use crate::run::parts::{Answer, Draft, Reading};
use crate::run::protocol::{BlockContent, EffectId, Failure, RunEvent, TimerKey};
use crate::transcript::{Compaction, is_instruction, is_sent, token_estimate};

impl Turn {
    /// Returns the messages that the hop's request carries, of those that it may.
    pub(in crate::run) fn compacted_messages(&self) -> Vec<SentMessage<'_>> {
        let endpoint = &self.setup.config().endpoint;
        let compaction = self.transcript.compaction();
        compaction.apply(self.asked_messages(), endpoint)
    }

    /// Returns the messages of the conversation that requests carry, without the summary of the others.
    pub(in crate::run) fn carried_messages(&self) -> Vec<SentMessage<'_>> {
        let compaction = self.transcript.compaction();
        compaction.carried(self.transcript.messages())
    }

    /// Returns whether the conversation may be compacted: an agent keeps a conversation of its own.
    pub(in crate::run) fn is_compacted(&self) -> bool {
        let config = self.setup.config();
        !config.compaction.is_off() && config.endpoint.dialect != Dialect::AgUi
    }

    /// Compacts the conversation. Requests no longer carry `left_out`, and have about this number of `tokens`.
    pub(in crate::run) fn compact(
        &mut self,
        compaction: Compaction,
        left_out: Vec<MessageId>,
        usage: Vec<TokenUsage>,
        tokens: u64,
    ) {
        self.transcript.set_compaction(compaction.clone());
        self.record(BlockContent::Compacted {
            compaction: compaction.clone(),
            usage,
        });
        self.event(RunEvent::ContextTrimmed {
            left_out,
            tokens,
            compaction,
        });
    }

    /// Notes that the provider has compacted the conversation in the answer that has just ended.
    pub(in crate::run) fn note_provider_compaction(&mut self) {
        let endpoint = &self.setup.config().endpoint;
        if endpoint.dialect.compacts_from().is_none() {
            return;
        }
        let answer = self.transcript.messages().get(self.stream_start()..);
        let mut answer = answer.unwrap_or_default().iter().rev();
        let Some(message) = answer.find(|message| endpoint.reads_compaction(message)) else {
            return;
        };
        let compaction = Compaction {
            by_provider: Some(message.id().clone()),
            ..self.transcript.compaction().clone()
        };
        let messages = self.transcript.messages();
        let before = self.transcript.compaction().apply(messages, endpoint);
        let after = compaction.apply(messages, endpoint);
        let left_out = before
            .iter()
            .take_while(|message| Some(message.id()) != compaction.by_provider.as_ref());
        let left_out = left_out.filter(|message| is_sent(message) && !is_instruction(message));
        let left_out = left_out.map(|message| message.id().clone()).collect();
        let tokens = after
            .iter()
            .map(|message| token_estimate::of_message(message))
            .sum();
        self.compact(compaction, left_out, Vec::new(), tokens);
    }

    /// Takes the compaction by an earlier turn away, and the provider's own.
    pub(super) fn take_compaction_away(&mut self) {
        let before = self.transcript.compaction();
        let mut compaction = before.clone();
        compaction.undo(self.transcript.messages());
        if *before == compaction {
            return;
        }
        // The provider has counted a shorter conversation.
        self.transcript.put_usage(Vec::new());
        let messages = self.transcript.messages().iter();
        let tokens = messages.map(token_estimate::of_message).sum();
        self.compact(compaction, Vec::new(), Vec::new(), tokens);
    }

    /// Returns whether the requests of the hop are for a summary.
    pub(in crate::run) fn is_summarizing(&self) -> bool {
        self.draft.is_some()
    }

    /// Returns the messages that the summary replaces.
    pub(in crate::run) fn messages_to_summarize(&self) -> Vec<SentMessage<'_>> {
        let Some(draft) = &self.draft else {
            return Vec::new();
        };
        let before = self.transcript.compaction();
        let messages = self.transcript.messages();
        draft.compaction().newly_left_out(before, messages)
    }

    /// Asks for the summary of what this compaction leaves out.
    pub(in crate::run) fn begin_summary(&mut self, compaction: Compaction) {
        self.draft = Some(Box::new(Draft::new(compaction)));
        self.setup.ask_for_summary();
        self.access.forget();
        self.access.accepted();
        let (hop, attempt) = (self.hop, self.route.attempt());
        self.emit(EffectId::Open { hop, attempt });
    }

    /// Takes bytes of the summary.
    pub(in crate::run) fn receive_summary(&mut self, answer: &mut Answer, bytes: &[u8]) -> Reading {
        let Some(draft) = &mut self.draft else {
            return Reading::Over;
        };
        let reading = answer.receive(bytes, draft.answer_mut(), &mut ());
        self.time_stream(reading);
        reading
    }

    /// Ends the body of the summary. It is complete if there is no failure.
    ///
    /// # Errors
    /// The body is no stream, or no summary.
    pub(in crate::run) fn end_summary(&mut self, answer: &mut Answer) -> Result<(), Failure> {
        use crate::pipeline::StreamEnd;
        let Some(draft) = &mut self.draft else {
            return Ok(());
        };
        let end = answer.end(draft.answer_mut(), &mut ())?;
        let summary = draft.answer().summary();
        match end {
            Some(StreamEnd::Finished) => {}
            Some(StreamEnd::Errored) => {
                let error = summary.failure.clone().unwrap_or_default();
                return Err(Failure::reported(error));
            }
            Some(StreamEnd::Truncated) | None => {
                let message = "the body ended before the summary did".to_owned();
                return Err(Failure::Connection { message });
            }
        }
        match summary.stop_reason.as_deref().and_then(Failure::of_stop) {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    /// Drops what has come of the summary, which is asked for again or given up, and counts its cost.
    pub(in crate::run) fn drop_summary(&mut self) {
        let endpoint = &self.setup.config().endpoint;
        if let Some(draft) = &mut self.draft {
            draft.answer_mut().price_usage(|usage| endpoint.cost(usage));
            let usage = draft.begin_again();
            self.budget.count_usage(&usage);
        }
    }

    /// Takes the summary, whose last request was that of `attempt`: the hop's own request follows. Returns the compaction
    /// with the summary, if there is one, and the usage of all requests for it.
    pub(in crate::run) fn take_summary(
        &mut self,
        attempt: u32,
    ) -> (Option<Compaction>, Vec<TokenUsage>) {
        let text = self.draft.as_ref().and_then(|draft| draft.text());
        let (compaction, usage) = self.leave_draft();
        let next = attempt.saturating_add(1);
        self.route.begin_after_summary(next);
        self.tries.restart();
        let compaction = text.map(|text| Compaction {
            summary: Some(text),
            ..compaction
        });
        (compaction, usage)
    }

    /// Gives the summary up, in a hop that will send no request any more.
    pub(in crate::run) fn abandon_summary(&mut self) {
        if !self.is_summarizing() {
            return;
        }
        let (_, usage) = self.leave_draft();
        self.record_summary_usage(usage);
    }

    /// Warns that the turn continues without a summary.
    pub(in crate::run) fn warn_of_no_summary(&mut self, failure: &Failure) {
        self.warn(format!(
            "the turn continues without a summary of the conversation: {failure}"
        ));
    }

    /// Warns of an answer that is no summary.
    pub(in crate::run) fn warn_of_empty_summary(&mut self) {
        if self
            .draft
            .as_ref()
            .is_some_and(|draft| draft.text().is_none())
        {
            let message =
                "the turn continues without a summary of the conversation: the model wrote none";
            self.warn(message.to_owned());
        }
    }

    /// Records the cost of a summary that did not come.
    pub(in crate::run) fn record_summary_usage(&mut self, usage: Vec<TokenUsage>) {
        if !usage.is_empty() {
            let compaction = self.transcript.compaction().clone();
            self.record(BlockContent::Compacted { compaction, usage });
        }
    }

    /// Sets up the turn's own model again.
    fn leave_draft(&mut self) -> (Compaction, Vec<TokenUsage>) {
        self.drop_summary();
        let draft = self.draft.take();
        self.clocks.stop(TimerKey::Silence);
        self.setup.ask(self.route.model());
        self.access.forget();
        self.access.accepted();
        draft.map_or_else(Default::default, |mut draft| {
            let usage = draft.take_usage();
            (draft.compaction().clone(), usage)
        })
    }
}
