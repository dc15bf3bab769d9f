//! The price of an agent: of a request handler that defines one for each request.
//!
//! `cargo bench -p stepwell-io --bench agent` prints the median, and the fastest and slowest of the middle nine tenths.
//! Tools by hand have a schema as JSON, which is compiled for the agent that first has it.

use serde_json::json;
use std::hint::black_box;
use std::time::Instant;
use stepwell_io::tool::{Tool, ToolContext};
use stepwell_io::{Agent, Model};

const ROUNDS: usize = 2_000;

fn main() {
    measure("Agent::new", || Agent::new(model()));
    for tools in [0, 3, 20] {
        measure(&format!("an agent with {tools} tools"), || {
            agent_with_tools(tools)
        });
    }
    let base = agent_with_tools(20);
    measure("the same agent with another output type", || {
        base.with_output::<String>()
    });
    measure("a conversation of an agent", || base.new_conversation());
}

fn model() -> Model {
    Model::openai("gpt-5-mini").api_key("the key")
}

/// Defines an agent whose tools differ from those of all agents before it in their names.
fn agent_with_tools(tools: usize) -> Agent {
    let schema = json!({
        "type": "object",
        "properties": {
            "city": { "type": "string", "minLength": 1, "maxLength": 100 },
            "days": { "type": "integer", "minimum": 1, "maximum": 14 },
            "units": { "type": "string", "enum": ["metric", "imperial"] },
        },
        "required": ["city"],
        "additionalProperties": false,
    });
    let answer = |_: ToolContext| async { "Sunny." };
    let agent = (0..tools).fold(Agent::builder(model()), |agent, tool| {
        let tool = Tool::new(format!("forecast_{tool}"), "The weather of the next days.");
        agent.tool(tool.parameters(schema.clone()), answer)
    });
    agent
        .instructions("Answer in one line.")
        .build()
        .expect("an agent")
}

fn measure<T>(what: &str, build: impl Fn() -> T) {
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let since = Instant::now();
            let built = black_box(build());
            let taken = since.elapsed().as_secs_f64() * 1e6;
            drop(built);
            taken
        })
        .collect();
    let first = times[0];
    times.sort_by(f64::total_cmp);
    let at = |place: usize| times[place];
    println!(
        "{what:<42} {:>8.1} us  ({:.1} to {:.1}; the first {first:.1})",
        at(ROUNDS / 2),
        at(ROUNDS / 20),
        at(ROUNDS - 1 - ROUNDS / 20),
    );
}
