use crate::dialect::Offer;
use crate::run::protocol::{RunConfig, TurnOptions};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};

/// The setup of a turn: the host's configuration, overridden by the options of the turn. Only the options are stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Setup {
    #[serde(serialize_with = "TurnOptions::store")]
    options: TurnOptions,
    /// The host's configuration.
    #[serde(skip, default = "RunConfig::absent")]
    base: Arc<RunConfig>,
    /// The configuration of the model that is asked, with the options.
    #[serde(skip, default = "RunConfig::absent")]
    config: Arc<RunConfig>,
    /// Built for the first request.
    #[serde(skip)]
    offer: OnceLock<Offer>,
}

impl Default for Setup {
    fn default() -> Self {
        Self::new(RunConfig::absent())
    }
}

impl Setup {
    pub(crate) fn new(config: Arc<RunConfig>) -> Self {
        Self {
            options: TurnOptions::default(),
            base: Arc::clone(&config),
            config,
            offer: OnceLock::new(),
        }
    }

    /// Gives a turn that was just read the host's configuration, which is not stored, and the model that it asks.
    pub(crate) fn configure(&mut self, config: Arc<RunConfig>, model: u32) {
        self.base = config;
        self.ask(model);
    }

    /// Sets up the model that writes summaries, until another one is set up.
    pub(crate) fn ask_for_summary(&mut self) {
        self.config = Arc::new(self.config.for_summary());
        self.offer = OnceLock::new();
    }

    /// Puts the options of the turn over the configuration.
    pub(crate) fn take_options(&mut self, options: TurnOptions) {
        self.options = options;
        self.ask(0);
    }

    /// Sets up the model with this number.
    pub(crate) fn ask(&mut self, model: u32) {
        let config = match model {
            0 => Arc::clone(&self.base),
            other => Arc::new(self.base.asking(other)),
        };
        self.config = self.options.over(config);
        self.offer = OnceLock::new();
    }

    #[inline]
    pub(crate) fn config(&self) -> &Arc<RunConfig> {
        &self.config
    }

    /// Returns the host's configuration, by which models are numbered.
    pub(crate) fn base(&self) -> &RunConfig {
        &self.base
    }

    pub(crate) fn has_no_options(&self) -> bool {
        self.options.is_empty()
    }

    /// Returns what the requests offer the model, in the endpoint's form.
    pub(crate) fn offer(&self) -> &Offer {
        let RunConfig {
            endpoint,
            tools,
            settings,
            output,
            ..
        } = &*self.config;
        let make = || Offer::new(endpoint, tools.definitions(), settings, output.as_ref());
        self.offer.get_or_init(make)
    }

    /// Returns the setup in its stored form.
    pub(crate) fn once_stored(&self) -> Self {
        Self {
            options: self.options.clone(),
            base: Arc::clone(&self.base),
            config: Arc::clone(&self.config),
            offer: OnceLock::new(),
        }
    }
}

#[cfg(feature = "model-check")]
impl Setup {
    pub(crate) fn options(&self) -> &TurnOptions {
        &self.options
    }
}
