//! A turn in the traces: what it did is printed, a line of JSON a span. Any subscriber of `tracing` takes them.
use serde_json::json;
use stepwell_io::{Agent, Tool, ToolContext, provider};
use tracing_subscriber::fmt::format::FmtSpan;

async fn secret_number(call: ToolContext) -> Result<String, std::io::Error> {
    let is_alice = call.arguments.value["name"] == "alice";
    Ok(if is_alice { "42" } else { "7" }.to_owned())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let printed = tracing_subscriber::fmt().json();
    printed.with_span_events(FmtSpan::CLOSE).init();
    let url = std::env::args().nth(1);
    let key = std::env::var("OPENAI_API_KEY").ok().map(Into::into);
    let endpoint = provider::find("openai")?.endpoint(None, "gpt-4o-mini", url.as_deref(), key)?;
    let takes = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
    let tool = Tool::new("get_secret_number", "The secret number of a person.").parameters(takes);
    let agent = Agent::builder(endpoint).tool(tool, secret_number).build()?;
    println!(
        "{}",
        agent
            .send("Alice's and Bob's secret numbers?")
            .await?
            .text()
    );
    Ok(())
}
