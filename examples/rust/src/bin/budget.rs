//! A turn that may cost a cent, and what it has cost.
use serde_json::json;
use stepwell_io::{Agent, Tool, ToolContext, provider};

async fn secret_number(call: ToolContext) -> Result<String, std::io::Error> {
    let is_alice = call.arguments.value["name"] == "alice";
    Ok(if is_alice { "42" } else { "7" }.to_owned())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1);
    let key = std::env::var("OPENAI_API_KEY").ok().map(Into::into);
    let endpoint = provider::find("openai")?.endpoint(None, "gpt-4o-mini", url.as_deref(), key)?;
    let takes = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
    let tool = Tool::new("get_secret_number", "The secret number of a person.").parameters(takes);
    let agent = Agent::builder(endpoint).tool(tool, secret_number);
    let agent = agent.configure(|config| config.limits.max_cost = "0.01".parse().ok());
    let turn = agent
        .build()?
        .send("What are Alice's and Bob's secret numbers?");
    let finished = turn.finish().await;
    let cost = finished.usage.cost.unwrap_or_default();
    println!("{} It cost {cost}: {:?}", finished.text(), finished.outcome);
    Ok(())
}
