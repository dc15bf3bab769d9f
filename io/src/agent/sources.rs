//! Tools that come and go between turns.

use crate::app::setup::Setup;
use crate::app::tools::source::{SourcedTool, ToolSource};
use crate::base::lock;
use std::sync::{Arc, Mutex};

/// The sources of an agent, and the setup that was last made with their tools.
#[derive(Default)]
pub(crate) struct Sources {
    sources: Vec<Arc<dyn ToolSource>>,
    made: Mutex<Option<Made>>,
}

struct Made {
    of: Vec<Arc<[SourcedTool]>>,
    setup: Arc<Setup>,
}

impl Sources {
    pub(crate) fn new(sources: Vec<Arc<dyn ToolSource>>) -> Self {
        Self {
            sources,
            made: Mutex::default(),
        }
    }

    /// The setup for a turn that begins now.
    pub(crate) fn add_to(&self, base: &Arc<Setup>) -> Arc<Setup> {
        if self.sources.is_empty() {
            return Arc::clone(base);
        }
        let of: Vec<_> = self.sources.iter().map(|source| source.tools()).collect();
        let mut made = lock(&self.made);
        if let Some(made) = &*made {
            let mut pairs = made.of.iter().zip(&of);
            if pairs.all(|(before, now)| Arc::ptr_eq(before, now)) {
                return Arc::clone(&made.setup);
            }
        }
        let setup = Arc::new(with_tools(base, of.iter().flat_map(|tools| tools.iter())));
        *made = Some(Made {
            of,
            setup: Arc::clone(&setup),
        });
        setup
    }
}

/// A tool that cannot be added is left out: a turn must not fail for what a server says.
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
