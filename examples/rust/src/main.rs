//! A first Stepwell program. The model is a scripted one, so it needs no key and no network.
use std::io::Write;
use stepwell_io::prelude::*;
use stepwell_mock_llm::{MockLlm, Script};

/// Finds someone's secret number.
#[tool]
async fn get_secret_number(name: String) -> u32 {
    if name == "alice" { 42 } else { 7 }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = MockLlm::start(Script::secret_numbers()).await?;
    let url = std::env::args().nth(1).unwrap_or(model.base_url());
    let agent = Agent::builder(Model::openai_compatible("any", url))
        .tools(tools![get_secret_number])
        .build()?;
    let mut turn = agent.stream("What are Alice's and Bob's secret numbers?");
    while let Some(update) = turn.next().await {
        // An error is a wrong key, say, or an answer that was cut.
        if let Update::Text { delta, .. } = update.map_err(|error| error.to_string())? {
            print!("{delta}");
            std::io::stdout().flush()?;
        }
    }
    println!();
    Ok(())
}
