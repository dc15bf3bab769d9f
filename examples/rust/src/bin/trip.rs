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
    let url = std::env::args().nth(1);
    let model = url
        .into_iter()
        .fold(Model::openai("gpt-5-mini"), Model::base_url);
    let run = Agent::new(model).run("Three days in Norway: where?");
    let trip: Trip = run.output().await?.output;
    println!("{} days in {}", trip.days, trip.city);
    Ok(())
}
