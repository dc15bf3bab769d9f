//! The tools of an agent's sources.

use crate::app::setup::Setup;
use crate::app::tools::source::{SourcedTool, ToolSource};
use crate::base::lock;
use std::sync::{Arc, Mutex};

/// The sources of an agent, and the last setup with their tools.
#[derive(Default)]
pub(crate) struct Sources {
    sources: Vec<Arc<dyn ToolSource>>,
    cached: Mutex<Option<CachedSetup>>,
}

struct CachedSetup {
    of: Vec<Arc<[SourcedTool]>>,
    setup: Arc<Setup>,
}

impl Sources {
    pub(crate) fn new(sources: Vec<Arc<dyn ToolSource>>) -> Self {
        Self {
            sources,
            cached: Mutex::default(),
        }
    }

    /// Returns the same sources, for another base.
    pub(crate) fn fresh(&self) -> Self {
        Self::new(self.sources.clone())
    }

    /// Returns the setup of a turn that begins now.
    pub(crate) fn add_to(&self, base: &Arc<Setup>) -> Arc<Setup> {
        if self.sources.is_empty() {
            return Arc::clone(base);
        }
        let of: Vec<_> = self.sources.iter().map(|source| source.tools()).collect();
        let mut cached = lock(&self.cached);
        if let Some(made) = &*cached {
            let mut pairs = made.of.iter().zip(&of);
            if pairs.all(|(before, now)| Arc::ptr_eq(before, now)) {
                return Arc::clone(&made.setup);
            }
        }
        let setup = Arc::new(with_tools(base, of.iter().flat_map(|tools| tools.iter())));
        *cached = Some(CachedSetup {
            of,
            setup: Arc::clone(&setup),
        });
        setup
    }
}

/// Adds tools to a setup. A tool that cannot be added is left out: a turn must not fail because of a server's tool.
fn with_tools<'a>(base: &Setup, tools: impl Iterator<Item = &'a SourcedTool>) -> Setup {
    let mut setup = base.clone();
    let mut config = (*setup.config).clone();
    for sourced in tools {
        match config.tools.add(sourced.tool.clone()) {
            Ok(()) => {
                let name = sourced.tool.name().to_owned();
                setup.handlers.insert(name, Arc::clone(&sourced.handler));
            }
            Err(error) => {
                tracing::warn!(target: "stepwell", %error, "a tool of a source is left out");
            }
        }
    }
    setup.config = Arc::new(config);
    setup
}
