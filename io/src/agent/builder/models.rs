//! The models that an agent asks besides its own.

use super::AgentBuilder;
use crate::app::model_choice::ModelChooser;
use crate::model::Model;
use crate::model_health::ModelHealth;
use std::sync::Arc;
use stepwell_core::run::{CompactionWay, FallbackModel, ModelChoice, SummaryPolicy};

impl<D, T> AgentBuilder<D, T> {
    /// Adds models that are asked, in this order, when the agent's own has failed: when it is overloaded, its rate limit is
    /// used up, its server cannot be reached or has failed, or it is silent. Each model is tried as often as
    /// [`RetryPolicy`](stepwell_core::run::RetryPolicy) says before the next one is asked, and the turn stays with the one
    /// that answers. [`Fallback`](stepwell_core::run::Fallback), in [`configure`](Self::configure), has the kinds of failure
    /// and what happens after text that the user has seen. The app is told by
    /// [`RunEvent::ModelChanged`](stepwell_core::run::RunEvent::ModelChanged).
    ///
    /// ```
    /// use stepwell_io::{Agent, ErrorKind, Model};
    ///
    /// # fn main() -> Result<(), stepwell_io::Error> {
    /// let agent: Agent = Agent::builder(Model::openai("gpt-5-mini").api_key("a key"))
    ///     .fallback([Model::anthropic("claude-haiku-4-5").api_key("another")])
    ///     .configure(|config| config.fallback.after.push(ErrorKind::ContextTooLong))
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn fallback(mut self, models: impl IntoIterator<Item = impl Into<Model>>) -> Self {
        for model in models {
            match model.into().endpoint() {
                Ok(endpoint) => {
                    let others = &mut self.parts.config.fallback.models;
                    others.push(FallbackModel::from(endpoint));
                }
                Err(error) => self.parts.fallback_error = Some(error),
            }
        }
        self
    }

    /// Sets the code that chooses the model of each hop among the agent's own and those of its [`fallback`](Self::fallback):
    /// an async closure from the [`HopContext`](stepwell_core::run::HopContext) to the number of a model. A model that fails
    /// is replaced all the same.
    ///
    /// ```
    /// use stepwell_io::config::HopContext;
    /// use stepwell_io::{Agent, Model};
    ///
    /// # fn main() -> Result<(), stepwell_io::Error> {
    /// // The small model reads the results of searches, the large one does all else.
    /// let agent: Agent = Agent::builder(Model::openai("gpt-5").api_key("a key"))
    ///     .fallback([Model::openai("gpt-5-mini").api_key("a key")])
    ///     .model_for(|hop: HopContext| async move { u32::from(hop.tools.iter().any(|tool| tool == "search")) })
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn model_for(mut self, chooser: impl ModelChooser) -> Self {
        self.parts.config.fallback.choice = ModelChoice::Host;
        self.parts.chooser = Some(Arc::new(chooser));
        self
    }

    /// Keeps long conversations from filling the model's context: these ways are used in their order, before a request that
    /// would fill more than four fifths of the context. [`CompactionPolicy`](stepwell_core::run::CompactionPolicy), in
    /// [`configure`](Self::configure), has the share. Old results of tools can be dropped, a model can write a summary of the
    /// older messages, and [`trim_context`](Self::trim_context) can choose. The app is told by
    /// [`RunEvent::ContextTrimmed`](stepwell_core::run::RunEvent::ContextTrimmed), the transcript keeps all messages, and the
    /// turns that follow begin from there.
    ///
    /// ```
    /// use stepwell_io::config::{CompactionWay, SummaryPolicy};
    /// use stepwell_io::{Agent, Model};
    ///
    /// # fn main() -> Result<(), stepwell_io::Error> {
    /// let agent: Agent = Agent::builder(Model::openai("gpt-5").api_key("a key"))
    ///     .compaction([
    ///         CompactionWay::DropResults { keep: 5 },
    ///         CompactionWay::Summary(SummaryPolicy::default()),
    ///     ])
    ///     .summary_model(Model::openai("gpt-5-mini").api_key("a key"))
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn compaction(self, ways: impl IntoIterator<Item = CompactionWay>) -> Self {
        self.change(|parts| parts.config.compaction.ways = ways.into_iter().collect())
    }

    /// Sets the model that writes summaries of long conversations, instead of the agent's own. Without a
    /// [`compaction`](Self::compaction) that says otherwise, summaries are the one way.
    #[must_use]
    pub fn summary_model(mut self, model: impl Into<Model>) -> Self {
        let endpoint = match model.into().endpoint() {
            Ok(endpoint) => endpoint,
            Err(error) => {
                self.parts.fallback_error = Some(error);
                return self;
            }
        };
        let model = Some(Box::new(FallbackModel::from(endpoint)));
        let ways = &mut self.parts.config.compaction.ways;
        let policy = ways.iter_mut().find_map(|way| match way {
            CompactionWay::Summary(policy) => Some(policy),
            _ => None,
        });
        match policy {
            Some(policy) => policy.model = model,
            None => ways.push(CompactionWay::Summary(SummaryPolicy {
                model,
                ..SummaryPolicy::default()
            })),
        }
        self
    }

    /// Uses a record of its own of which models have failed a short time ago, instead of [`ModelHealth::shared`].
    #[must_use]
    pub fn model_health(self, health: &ModelHealth) -> Self {
        self.change(|parts| parts.health = health.clone())
    }
}
