//! A typed answer: with the key in OPENAI_API_KEY, or with a base URL as the argument.
use serde::Deserialize;
use serde_json::{Value, json};
use stepwell_io::{Agent, OutputType, provider};

#[derive(Deserialize)]
struct Trip {
    city: String,
    days: u32,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1);
    let key = std::env::var("OPENAI_API_KEY").ok().map(Into::into);
    let endpoint = provider::find("openai")?.endpoint(None, "gpt-4o-mini", url.as_deref(), key)?;
    let members = json!({ "city": { "type": "string" }, "days": { "type": "integer" } });
    let schema = json!({ "type": "object", "properties": members, "required": ["city", "days"] });
    let output = OutputType::new("Trip", schema)?.decoded_by_host(true);
    let decode = |value: &Value| serde_json::from_value::<Trip>(value.clone());
    let agent = Agent::builder(endpoint)
        .output(output)
        .output_decoder(decode)
        .build()?;
    let finished = agent
        .send("Three days in Norway: where?")
        .await
        .map_err(|failed| failed.to_string())?;
    let Trip { city, days } = serde_json::from_value(finished.output.unwrap_or_default())?;
    println!("{days} days in {city}");
    Ok(())
}
