//! The worlds that these tests begin with. Every event in them is held against AG-UI's own schema.

use crate::schema::assert_schema;
use stepwell_core::dialect::Dialect;
use stepwell_core::run::{Output, RunConfig, RunEvent};
use stepwell_core::tool::Tool;
pub use stepwell_testing::world::{Cut, Ending, Hook, Reply, ToolReply, Trim, World, config};

pub fn chat() -> World {
    of(Dialect::OpenAiChat)
}

pub fn ag_ui() -> World {
    of(Dialect::AgUi)
}

pub fn of(dialect: Dialect) -> World {
    with(dialect, |_| {})
}

/// A world in which the run has the configuration that `change` makes of the default one.
pub fn with(dialect: Dialect, change: impl FnOnce(&mut RunConfig)) -> World {
    let mut config = config(dialect);
    change(&mut config);
    let mut world = World::new(config);
    world.observer = Some(|output| {
        if let Output::Event(RunEvent::AgUi(event)) = output {
            assert_schema(event);
        }
    });
    world
}

/// Adds a tool without arguments to a configuration.
pub fn offer(config: &mut RunConfig, tool: Tool) {
    config.tools = config.tools.register(tool).expect("a good tool");
}
