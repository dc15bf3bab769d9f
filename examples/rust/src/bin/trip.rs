//! A typed answer: with the key in OPENAI_API_KEY, or with a base URL as the argument.
use schemars::JsonSchema;
use serde::Deserialize;
use stepwell_io::{Agent, Model};

#[derive(Deserialize, JsonSchema)]
struct Trip {
    city: String,
    /// At least one.
    days: u32,
}

#[tokio::main]
async fn main() -> Result<(), stepwell_io::Error> {
    let mut model = Model::openai("gpt-5-mini");
    if let Some(url) = std::env::args().nth(1) {
        model = model.base_url(url);
    }
    let trip: Trip = Agent::new(model).run("Where to?").output().await?.output;
    println!("{} days in {}", trip.days, trip.city);
    Ok(())
}
