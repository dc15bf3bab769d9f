//! A turn that may cost a cent, and what it has cost.
use stepwell_io::prelude::*;

/// The secret number of a person.
#[tool]
async fn get_secret_number(name: String) -> u32 {
    if name == "alice" { 42 } else { 7 }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let mut model = Model::openai("gpt-5-mini");
    if let Some(url) = std::env::args().nth(1) {
        model = model.base_url(url);
    }
    let agent = Agent::builder(model)
        .tools(tools![get_secret_number])
        .configure(|config| config.limits.max_cost = "0.01".parse().ok())
        .build()?;
    let end = agent.stream("The numbers?").into_events().finish().await;
    let cost = end.usage.cost.unwrap_or_default();
    println!("{} It cost {cost}: {:?}", end.text(), end.outcome);
    Ok(())
}
