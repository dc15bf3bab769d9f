//! A typed answer: with the key in OPENAI_API_KEY, or with a base URL as the argument.
use schemars::JsonSchema;
use serde::Deserialize;
use stepwell_io::{Agent, provider};

#[derive(Deserialize, JsonSchema)]
struct Trip {
    city: String,
    /// At least one.
    days: u32,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1);
    let key = std::env::var("OPENAI_API_KEY").ok().map(Into::into);
    let endpoint = provider::find("openai")?.endpoint(None, "gpt-4o-mini", url.as_deref(), key)?;
    let agent = Agent::builder(endpoint).build()?;
    let trip: Trip = agent.run("Three days in Norway: where?").await?;
    println!("{} days in {}", trip.days, trip.city);
    Ok(())
}
