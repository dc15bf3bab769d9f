//! A turn in the traces: what it did is printed, a line of JSON a span. Any subscriber of `tracing` takes them.
use stepwell_io::prelude::*;
use tracing_subscriber::fmt::format::FmtSpan;

/// The secret number of a person.
#[tool]
async fn get_secret_number(name: String) -> u32 {
    if name == "alice" { 42 } else { 7 }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let printed = tracing_subscriber::fmt().json();
    printed.with_span_events(FmtSpan::CLOSE).init();
    let mut model = Model::openai("gpt-5-mini");
    if let Some(url) = std::env::args().nth(1) {
        model = model.base_url(url);
    }
    let agent = Agent::builder(model)
        .tools(tools![get_secret_number])
        .build()?;
    println!("{}", agent.run("The secret numbers?").await?.output);
    Ok(())
}
