//! A turn that may cost a cent, and what it has cost.
use stepwell_io::{Agent, provider, tool, tools};

/// The secret number of a person.
#[tool]
async fn get_secret_number(name: String) -> u32 {
    if name == "alice" { 42 } else { 7 }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1);
    let key = std::env::var("OPENAI_API_KEY").ok().map(Into::into);
    let endpoint = provider::find("openai")?.endpoint(None, "gpt-4o-mini", url.as_deref(), key)?;
    let agent = Agent::builder(endpoint)
        .tools(tools![get_secret_number])
        .configure(|config| config.limits.max_cost = "0.01".parse().ok())
        .build()?;
    let turn = agent.send("What are Alice's and Bob's secret numbers?");
    let finished = turn.finish().await;
    let cost = finished.usage.cost.unwrap_or_default();
    println!("{} It cost {cost}: {:?}", finished.text(), finished.outcome);
    Ok(())
}
