use std::sync::{Arc, Mutex, PoisonError};
use stepwell_io::tool::{SourcedTool, ToolSource};

/// The tools of a source, of which some need the user's approval.
pub(super) struct AskBefore<S> {
    source: S,
    names: Vec<String>,
    /// The last tools of the source, and what they became.
    made: Mutex<Option<Made>>,
}

struct Made {
    of: Arc<[SourcedTool]>,
    tools: Arc<[SourcedTool]>,
}

impl<S: ToolSource> AskBefore<S> {
    pub(super) fn new(source: S, names: Vec<String>) -> Self {
        Self {
            source,
            names,
            made: Mutex::default(),
        }
    }
}

impl<S: ToolSource> ToolSource for AskBefore<S> {
    fn tools(&self) -> Arc<[SourcedTool]> {
        let of = self.source.tools();
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = made.as_ref().filter(|made| Arc::ptr_eq(&made.of, &of)) {
            return Arc::clone(&made.tools);
        }
        let tools = of.iter().cloned().map(|mut sourced| {
            sourced.tool.requires_approval |=
                self.names.iter().any(|name| name == sourced.tool.name());
            sourced
        });
        let tools: Arc<[_]> = tools.collect();
        *made = Some(Made {
            of,
            tools: Arc::clone(&tools),
        });
        tools
    }
}
