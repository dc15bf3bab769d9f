//! Which models have failed a short time ago, so that other turns ask others first.

use crate::base::{Clock, lock};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex};
use stepwell_core::provider::Endpoint;
use stepwell_core::run::{Deadline, Failure, Input, ModelName, Outcome, RunConfig, RunEvent};
use tokio::time::Instant;

/// The health of models: a model that has failed in one turn rests for a while, and turns with a
/// [fallback](crate::AgentBuilder::fallback) ask another model first. A model that answers is healthy again at once.
///
/// All agents of a process share [`ModelHealth::shared`], unless
/// [`AgentBuilder::model_health`](crate::AgentBuilder::model_health) sets another. Clones are the same.
#[derive(Clone, Default)]
pub struct ModelHealth(Arc<Mutex<HashMap<Key, Instant>>>);

/// The provider, its address and the model.
type Key = (String, String, String);

/// The most models that are remembered: of more, those whose rest ends first are forgotten.
const MOST_MODELS: usize = 1_024;

static SHARED: LazyLock<ModelHealth> = LazyLock::new(ModelHealth::new);

impl ModelHealth {
    /// Returns a record of its own, in which all models are healthy.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the record of this process.
    #[must_use]
    pub fn shared() -> Self {
        SHARED.clone()
    }

    /// Returns what a machine that begins or continues now must know.
    pub(crate) fn inputs(&self, config: &RunConfig, clock: Clock) -> Vec<Input<'static>> {
        if config.fallback.models.is_empty() {
            return Vec::new();
        }
        let now = Instant::now();
        let resting = lock(&self.0);
        let models = (0..).zip(config.endpoints());
        let models = models.filter_map(|(model, endpoint)| {
            let left = resting.get(&key(endpoint))?.checked_duration_since(now)?;
            let until = clock.now().after(left);
            Some(Input::ModelResting { model, until })
        });
        models.collect()
    }

    /// Notes what an event of a turn says about its models. `asked` is the model that the turn asks now.
    pub(crate) fn note(&self, event: &RunEvent, config: &RunConfig, asked: &Endpoint) {
        match event {
            RunEvent::ModelChanged {
                previous,
                after: Some(_),
                ..
            } => {
                let is_it = |endpoint: &&Endpoint| is_named(endpoint, previous);
                if let Some(endpoint) = config.endpoints().find(is_it) {
                    self.rest(endpoint, config);
                }
            }
            RunEvent::Completed(Outcome::Success) => {
                lock(&self.0).remove(&key(asked));
            }
            RunEvent::Completed(outcome) if is_of_the_model(outcome, config) => {
                self.rest(asked, config);
            }
            _ => {}
        }
    }

    fn rest(&self, endpoint: &Endpoint, config: &RunConfig) {
        let now = Instant::now();
        let Some(until) = now.checked_add(config.fallback.rest) else {
            return;
        };
        let mut resting = lock(&self.0);
        if resting.len() >= MOST_MODELS {
            resting.retain(|_, until| *until > now);
        }
        if resting.len() >= MOST_MODELS {
            let first = resting.iter().min_by_key(|(_, until)| **until);
            if let Some(first) = first.map(|(key, _)| key.clone()) {
                resting.remove(&first);
            }
        }
        resting.insert(key(endpoint), until);
    }
}

impl fmt::Debug for ModelHealth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let now = Instant::now();
        let resting = lock(&self.0);
        let resting = resting.iter().filter(|(_, until)| **until > now);
        f.debug_tuple("ModelHealth")
            .field(&resting.map(|(key, _)| key).collect::<Vec<_>>())
            .finish()
    }
}

fn key(endpoint: &Endpoint) -> Key {
    (
        endpoint.provider.clone(),
        endpoint.base_url.clone(),
        endpoint.model.clone(),
    )
}

fn is_named(endpoint: &Endpoint, name: &ModelName) -> bool {
    endpoint.provider == name.provider && endpoint.model == name.model
}

/// Returns whether another model would have been asked after such an end.
fn is_of_the_model(outcome: &Outcome, config: &RunConfig) -> bool {
    let is_turns = matches!(
        outcome,
        Outcome::Failed {
            failure: Failure::TimedOut {
                deadline: Deadline::Turn
            }
        }
    );
    let kind = outcome.problem().map(|problem| problem.kind);
    !is_turns && kind.is_some_and(|kind| config.fallback.after.contains(&kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use stepwell_core::provider;
    use stepwell_core::run::FallbackModel;

    fn config() -> RunConfig {
        let provider = provider::find("openai-compatible").expect("the table has it");
        let endpoint = |model| {
            let url = Some("http://localhost/v1");
            provider
                .endpoint(None, model, url, None)
                .expect("an endpoint")
        };
        let mut config = RunConfig::new(endpoint("first"));
        config.fallback.models = vec![FallbackModel::from(endpoint("second"))];
        config
    }

    fn resting(health: &ModelHealth, config: &RunConfig) -> Vec<u32> {
        let inputs = health.inputs(config, Clock::new()).into_iter();
        let models = inputs.filter_map(|input| match input {
            Input::ModelResting { model, .. } => Some(model),
            _ => None,
        });
        models.collect()
    }

    fn timed_out(deadline: Deadline) -> RunEvent {
        let failure = Failure::TimedOut { deadline };
        RunEvent::Completed(Outcome::Failed { failure })
    }

    #[tokio::test(start_paused = true)]
    async fn a_model_that_failed_rests_for_a_while() {
        let (health, config) = (ModelHealth::new(), config());
        assert!(resting(&health, &config).is_empty());
        health.note(&timed_out(Deadline::Silence), &config, &config.endpoint);
        assert_eq!(resting(&health, &config), [0]);
        tokio::time::advance(config.fallback.rest + Duration::from_millis(1)).await;
        assert!(resting(&health, &config).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_model_that_answers_rests_no_more() {
        let (health, config) = (ModelHealth::new(), config());
        let second = &config.fallback.models[0].endpoint;
        health.note(&timed_out(Deadline::Silence), &config, second);
        assert_eq!(resting(&health, &config), [1]);
        health.note(&RunEvent::Completed(Outcome::Success), &config, second);
        assert!(resting(&health, &config).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_the_models_fault_rests_no_model() {
        let (health, config) = (ModelHealth::new(), config());
        for event in [
            timed_out(Deadline::Turn),
            RunEvent::Completed(Outcome::Cancelled),
        ] {
            health.note(&event, &config, &config.endpoint);
        }
        assert!(resting(&health, &config).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn there_is_a_limit_to_the_models_that_are_remembered() {
        let (health, config) = (ModelHealth::new(), config());
        let mut endpoint = config.endpoint.clone();
        for number in 0..2 * MOST_MODELS {
            endpoint.model = number.to_string();
            health.note(&timed_out(Deadline::Silence), &config, &endpoint);
        }
        assert_eq!(lock(&health.0).len(), MOST_MODELS);
    }
}
