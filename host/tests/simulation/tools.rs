//! The hosts' tools. Each beginning is noted in a ledger that outlives them.

use super::super::ServerTool;
use super::agent;
use super::clients::chance::Chance;
use super::life::Life;
use super::world::World;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use stepwell_io::tool::{Tool, ToolContext};

/// The tools, and whether each is idempotent.
pub(super) const TOOLS: [(&str, bool); 5] = [
    ("work", false),
    ("look", true),
    ("long", false),
    ("ask", false),
    ("fail", false),
];

/// A tool that began.
#[derive(Clone, Debug)]
pub(super) struct Begun {
    pub(super) call: String,
    pub(super) tool: String,
    pub(super) life: String,
}

pub(super) fn tools(
    world: &Arc<World>,
    life: &Arc<Life>,
    without: Option<&str>,
) -> Vec<ServerTool> {
    let offered = TOOLS.iter().filter(|(name, _)| Some(*name) != without);
    offered
        .map(|(name, is_idempotent)| {
            let mut tool = Tool::new(*name, "Leaves a mark.");
            if *is_idempotent {
                tool = tool.idempotent();
            }
            if *name == "ask" {
                tool = tool.requires_approval();
                // A schema takes a while to be understood: some seeds have one.
                if world.seed.is_multiple_of(4) {
                    tool = tool.parameters(json!({
                        "type": "object",
                        "properties": { "id": { "type": "string" }, "note": { "type": "string" } },
                        "required": ["id"],
                    }));
                }
            }
            let (world, life) = (Arc::clone(world), Arc::clone(life));
            ServerTool::new(tool, move |call: ToolContext| {
                run(Arc::clone(&world), Arc::clone(&life), call)
            })
        })
        .collect()
}

async fn run(
    world: Arc<World>,
    life: Arc<Life>,
    call: ToolContext,
) -> Result<String, std::io::Error> {
    life.moment("a tool begins").await;
    let id = call.tool_call_id.to_string();
    world
        .trace
        .note(format!("{} runs {} for {id}", life.name, call.name));
    world.begins(Begun {
        call: id.clone(),
        tool: call.name.clone(),
        life: life.name.clone(),
    });
    let takes = match call.name.as_str() {
        "long" => life.chance.millis(2_000..90_000),
        _ => match life.chance.below(3) {
            0 => Duration::ZERO,
            1 => life.chance.millis(1..100),
            _ => life.chance.millis(100..3_000),
        },
    };
    tokio::time::sleep(takes).await;
    life.moment("a tool is done").await;
    // More than waits for the client of a run that reads slowly, now and then.
    let is_long = id.starts_with(agent::THREAD) && Chance::of(world.seed, &id).one_in(2);
    let length = if is_long { 20_000 } else { 0 };
    match call.name.as_str() {
        "fail" => Err(std::io::Error::other("it fails")),
        name => Ok(format!(
            "{name} is done for {id}, note {}{}",
            call.arguments.value["note"],
            ".".repeat(length)
        )),
    }
}
