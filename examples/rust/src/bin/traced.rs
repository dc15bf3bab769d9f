//! A turn in the traces: what it did is printed, a line of JSON a span. Any subscriber of `tracing` takes them.
use stepwell_io::{Agent, provider, tool, tools};
use tracing_subscriber::fmt::format::FmtSpan;

/// The secret number of a person.
#[tool]
async fn get_secret_number(name: String) -> u32 {
    if name == "alice" { 42 } else { 7 }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let printed = tracing_subscriber::fmt().json();
    printed.with_span_events(FmtSpan::CLOSE).init();
    let url = std::env::args().nth(1);
    let key = std::env::var("OPENAI_API_KEY").ok().map(Into::into);
    let endpoint = provider::find("openai")?.endpoint(None, "gpt-4o-mini", url.as_deref(), key)?;
    let agent = Agent::builder(endpoint)
        .tools(tools![get_secret_number])
        .build()?;
    let finished = agent.send("Alice's and Bob's secret numbers?").await?;
    println!("{}", finished.text());
    Ok(())
}
