//! An agent without its types.

use crate::answer::output::Output;
use crate::app::output::OutputDecoder;
use crate::app::setup::Setup;
use crate::app::tools::context::Deps;
use crate::definition::code::TurnCode;
use crate::definition::shared::Shared;
use crate::durable::StoreSetup;
use crate::error::Error;
use crate::threads::Threads;
use std::sync::Arc;
use stepwell_core::tool::OutputType;

/// An agent without its types: the definition, and what a handle on it has instead.
#[derive(Clone, Debug)]
pub(crate) struct AgentParts {
    pub(crate) shared: Arc<Shared>,
    /// The conversations, with their store.
    pub(crate) threads: Arc<Threads>,
    /// Code that is used instead of the agent's.
    pub(crate) code: Option<Arc<TurnCode>>,
    /// The type of the answers.
    pub(crate) output: OwnOutput,
    /// The value that the tools are given.
    pub(crate) deps: Option<Deps>,
}

/// A type of answers, and its decoder.
pub(crate) type DecodedType = (OutputType, Option<Arc<dyn OutputDecoder>>);

/// The type of an agent's or a run's answers.
#[derive(Clone, Default)]
pub(crate) enum OwnOutput {
    /// The type of the agent's configuration.
    #[default]
    Configured,
    /// Another type.
    Type(Arc<DecodedType>),
    /// A type that no answer can have.
    Unusable(Error),
}

impl OwnOutput {
    pub(crate) fn of<O: Output>() -> Self {
        match O::output_type() {
            Ok(Some((output, decoder))) => Self::Type(Self::decoded(output, Some(decoder))),
            Ok(None) => Self::Configured,
            Err(error) => Self::Unusable(error.into()),
        }
    }

    pub(crate) fn decoded(
        output: OutputType,
        decoder: Option<Arc<dyn OutputDecoder>>,
    ) -> Arc<DecodedType> {
        let is_decoded = decoder.is_some() || output.is_decoded_by_host();
        Arc::new((output.decoded_by_host(is_decoded), decoder))
    }
}

impl std::fmt::Debug for OwnOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Configured => f.write_str("Configured"),
            Self::Type(decoded) => f.debug_tuple("Type").field(&decoded.0.name()).finish(),
            Self::Unusable(error) => f.debug_tuple("Unusable").field(error).finish(),
        }
    }
}

impl AgentParts {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            threads: Arc::clone(&shared.threads),
            shared,
            code: None,
            output: OwnOutput::default(),
            deps: None,
        }
    }

    /// Returns the agent's setup, without the tools of its sources.
    pub(crate) fn base(&self) -> &Arc<Setup> {
        self.shared.base(self.threads.stored.is_some())
    }

    /// Returns the store as the agent's code reaches it.
    pub(crate) fn with_its_code(&self, stored: StoreSetup) -> StoreSetup {
        match &self.code {
            Some(code) => code.store_of(stored),
            None => stored,
        }
    }

    /// Returns the setup of a turn that begins now.
    pub(crate) fn turn_setup(&self, is_stored: bool) -> Arc<Setup> {
        let mut setup = self.shared.turn_setup(is_stored);
        if let Some(code) = &self.code {
            setup = Arc::new(code.put_into(&setup, &self.base().config.tools));
        }
        if let Some(deps) = &self.deps {
            Arc::make_mut(&mut setup).deps = Some(deps.clone());
        }
        if let OwnOutput::Type(decoded) = &self.output
            && let (_, Some(decoder)) = &**decoded
        {
            Arc::make_mut(&mut setup).decoder = Some(Arc::clone(decoder));
        }
        setup
    }
}
