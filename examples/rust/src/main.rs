//! A first Stepwell program. The model is a scripted one, so it needs no key and no network.
use futures::StreamExt;
use std::io::Write;
use stepwell_io::{Agent, Event, RunEvent, provider, tool, tools};
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
    let endpoint = provider::find("openai-compatible")?.endpoint(None, "any", Some(&url), None)?;
    let agent = Agent::builder(endpoint)
        .tools(tools![get_secret_number])
        .build()?;
    let mut turn = agent.send("What are Alice's and Bob's secret numbers?");
    while let Some(event) = turn.next().await {
        if let RunEvent::AgUi(Event::TextMessageContent(piece)) = event {
            print!("{}", piece.delta);
            std::io::stdout().flush()?;
        }
    }
    println!();
    turn.await.map_err(|failed| failed.to_string())?; // a wrong key, an answer that was cut
    Ok(())
}
