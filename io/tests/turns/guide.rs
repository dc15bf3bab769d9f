//! What the guide of Rust shows of tools.

use super::{messages, start};
use crate::support::endpoint;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::error::Error;
use std::time::Duration;
use stepwell_io::config::Endpoint;
use stepwell_io::tool::Tool;
use stepwell_io::{Agent, tool, tools};
use stepwell_mock_llm::{Hop, MockLlm, Script};

#[derive(Serialize)]
struct Forecast {
    city: String,
    degrees: f64,
}

/// The weather in a city.
#[tool(idempotent, timeout = Duration::from_secs(10))]
async fn get_weather(
    /// Its name, without the country.
    city: String,
    /// In how many days: today if not given.
    days: Option<u8>,
) -> Result<Forecast, String> {
    match days.unwrap_or_default() {
        0..7 => Ok(Forecast {
            city,
            degrees: 21.5,
        }),
        _ => Err("nobody knows so far ahead".to_owned()),
    }
}

fn weather(endpoint: Endpoint) -> Result<Agent, Box<dyn Error>> {
    let agent = Agent::builder(endpoint)
        .tools(tools![get_weather])
        .build()?;

    Ok(agent)
}

#[derive(Deserialize, JsonSchema)]
struct Person {
    /// The first name.
    name: String,
}

fn numbers(endpoint: Endpoint) -> Result<Agent, Box<dyn Error>> {
    let secret_number = Tool::new("get_secret_number", "The secret number of a person.");
    let agent = Agent::builder(endpoint)
        .typed_tool(secret_number, |person: Person, _| async move {
            match person.name.as_str() {
                "alice" => Ok(42),
                _ => Err("nobody knows it"),
            }
        })
        .build()?;

    Ok(agent)
}

async fn shown(
    name: &str,
    arguments: serde_json::Value,
    agent: fn(Endpoint) -> Result<Agent, Box<dyn Error>>,
) -> String {
    let asks = Hop::new().tool_call(name, arguments);
    let model: MockLlm = start(Script::new().hop(asks).hop(Hop::new().text("I see."))).await;
    let endpoint = endpoint("openai-compatible", "any", &model.base_url(), None);
    let agent = agent(endpoint).expect("the agent is set up");
    agent.run("Go on").await.expect("it is complete");
    messages(&model.requests()[1], "tool")[0]["content"].to_string()
}

#[tokio::test]
async fn the_tools_of_the_guide_answer() {
    let bergen = shown("get_weather", json!({ "city": "Bergen" }), weather).await;
    assert!(bergen.contains("21.5"), "{bergen}");
    let alice = shown("get_secret_number", json!({ "name": "alice" }), numbers).await;
    assert_eq!(alice, "\"42\"");
    let bob = shown("get_secret_number", json!({ "name": "bob" }), numbers).await;
    assert!(bob.contains("nobody knows it"), "{bob}");
}
