//! A first Stepwell program. The model is a scripted one, so it needs no key and no network.
use futures::StreamExt;
use serde_json::json;
use std::io::Write;
use stepwell_io::{Agent, Event, RunEvent, Tool, provider};
use stepwell_mock_llm::{MockLlm, Script};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = MockLlm::start(Script::secret_numbers()).await?;
    let url = std::env::args().nth(1).unwrap_or(model.base_url());
    let endpoint = provider::find("openai-compatible")?.endpoint(None, "any", Some(&url), None)?;
    let tool = Tool::new("get_secret_number", "Finds someone's secret number.")
        .parameters(json!({ "type": "object", "properties": { "name": { "type": "string" } } }));
    let agent = Agent::builder(endpoint)
        .tool(tool, |call| async move {
            let known = call.arguments.value["name"] == "alice";
            Ok::<_, std::io::Error>(if known { "42" } else { "7" })
        })
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
