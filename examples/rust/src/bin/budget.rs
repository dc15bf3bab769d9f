//! A turn that may cost a cent, and what it has cost.
use stepwell_io::prelude::*;

/// The secret number of a person.
#[tool]
async fn get_secret_number(name: String) -> u32 {
    if name == "alice" { 42 } else { 7 }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let url = std::env::args().nth(1);
    let model = url
        .into_iter()
        .fold(Model::openai("gpt-5-mini"), Model::base_url);
    let agent = Agent::builder(model)
        .tools(tools![get_secret_number])
        .configure(|config| config.limits.max_cost = "0.01".parse().ok())
        .build()?;
    let turn = agent.stream("What are Alice's and Bob's secret numbers?");
    let end = turn.into_events().finish().await;
    let cost = end.usage.cost.unwrap_or_default();
    println!("{} It cost {cost}: {:?}", end.text(), end.outcome);
    Ok(())
}
