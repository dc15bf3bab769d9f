//! The model that the turn asks, of those in its configuration.
//!
//! Owns `route`, and which model `setup` has. The model changes only between two answers: before the first hop, when the host
//! chooses, or when the model has failed.

use super::Turn;
use crate::Timestamp;
use crate::dialect::Dialect;
use crate::event::Message;
use crate::run::protocol::{
    BlockContent, Failure, HopContext, HopModel, ModelChoice, ModelName, Outcome, RunEvent,
};
use crate::transcript::token_estimate;

impl Turn {
    /// Returns the number of the model that is asked.
    pub(in crate::run) fn model(&self) -> u32 {
        self.route.model()
    }

    /// Returns the attempt with which the model's requests of the hop begin.
    pub(in crate::run) fn first_attempt(&self) -> u32 {
        self.route.attempt()
    }

    /// Returns whether no model was asked for the hop's answer before this one.
    pub(in crate::run) fn is_first_model(&self) -> bool {
        self.route.is_first()
    }

    /// Notes that a model rests: it failed in another turn.
    pub(in crate::run) fn rest_model(&mut self, model: u32, until: Timestamp) {
        if model < self.config().model_count() {
            self.route.rest(model, until);
        }
    }

    /// Begins the turn with the first model that does not rest.
    pub(in crate::run) fn choose_first_model(&mut self) {
        if !self.has_fallback() {
            return;
        }
        if let Some(model) = self.route.next(self.config().model_count(), self.now()) {
            self.change_model(model, self.hop, 0, None);
        }
    }

    /// Returns whether the host chooses the model of each hop.
    pub(in crate::run) fn asks_host_for_model(&self) -> bool {
        self.has_fallback() && self.config().fallback.choice == ModelChoice::Host
    }

    /// Returns what the host's choice depends on.
    pub(in crate::run) fn hop_context(&self) -> HopContext {
        let now = self.now();
        let models = (0..).zip(self.setup.base().endpoints());
        let models = models.map(|(model, endpoint)| HopModel {
            name: ModelName::of(endpoint),
            is_resting: self.route.is_resting(model, now),
        });
        let messages = self.carried_messages();
        let results = messages.iter().rev().map_while(|message| match &**message {
            Message::Tool(result) => Some(&result.tool_call_id),
            _ => None,
        });
        let mut tools: Vec<_> = results
            .filter_map(|id| {
                let (_, call) = self.transcript.call_of_history(id)?;
                Some(call.function.name.clone())
            })
            .collect();
        tools.reverse();
        HopContext {
            hop: self.hop,
            models: models.collect(),
            current: self.model(),
            tools,
            tokens: messages
                .iter()
                .map(|message| token_estimate::of_message(message))
                .sum(),
        }
    }

    /// Takes the host's choice of the hop's model, unless that model has failed since the last complete answer: then the one
    /// in its place answers.
    pub(in crate::run) fn take_chosen_model(&mut self, model: u32) {
        if self.route.has_failed(model) {
            return self.warn(format!(
                "the model {model} was chosen, which has just failed: the one in its place is asked"
            ));
        }
        self.change_model(model, self.hop, 0, None);
    }

    /// Returns the model to ask after such an outcome of the present one, which then rests; `None` if the turn has to end.
    pub(in crate::run) fn model_after(&mut self, outcome: &Outcome, is_seen: bool) -> Option<u32> {
        if !self.has_fallback() {
            return None;
        }
        let kind = outcome.problem()?.kind;
        let fallback = &self.config().fallback;
        if !fallback.after.contains(&kind) || (is_seen && !fallback.after_text) {
            return None;
        }
        let until = self.now().after(fallback.rest);
        self.route.fail(self.route.model(), until);
        self.route.next(self.config().model_count(), self.now())
    }

    /// Asks another model in place of the one that failed, for the answer of `hop`.
    pub(in crate::run) fn fall_back(
        &mut self,
        model: u32,
        hop: u32,
        attempt: u32,
        failure: &Outcome,
    ) {
        self.tries.restart();
        self.change_model(model, hop, attempt, Some(failure));
    }

    /// Asks another model after an answer that is not of its type, however often the present one was asked. Returns whether
    /// there is one.
    pub(super) fn fall_back_after_output(&mut self, failure: &Failure) -> bool {
        let failure = failure.clone();
        let outcome = Outcome::Failed { failure };
        let Some(model) = self.model_after(&outcome, false) else {
            return false;
        };
        self.change_model(model, self.hop + 1, 0, Some(&outcome));
        self.typed.begin_with_another_model();
        true
    }

    /// Notes a complete answer: models that failed before it may be asked again.
    pub(in crate::run) fn model_has_answered(&mut self) {
        self.route.answered();
    }

    /// Returns whether another model can take the place of the present one.
    pub(in crate::run) fn has_fallback(&self) -> bool {
        let config = self.config();
        !config.fallback.is_none() && config.endpoint.dialect != Dialect::AgUi
    }

    fn change_model(&mut self, model: u32, hop: u32, attempt: u32, failure: Option<&Outcome>) {
        let is_same = model == self.route.model();
        self.route.choose(model, attempt);
        if is_same {
            return;
        }
        let previous = ModelName::of(&self.config().endpoint);
        self.setup.ask(model);
        self.set_up_presenter();
        self.access.forget();
        self.access.accepted();
        let now = ModelName::of(&self.config().endpoint);
        let problem = failure.and_then(Outcome::problem);
        let after = problem.as_ref().map(|problem| problem.kind);
        self.record(BlockContent::ModelChanged {
            model: now.clone(),
            previous: previous.clone(),
            after,
        });
        self.event(RunEvent::ModelChanged {
            hop,
            model: now,
            previous,
            after,
            reason: problem.map(|problem| problem.message),
        });
        for message in self.offer().warnings.clone() {
            self.warn(message);
        }
    }
}
