//! A question, two tool calls, an answer: with the key in OPENAI_API_KEY, or with a base URL as the argument.
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
        .build()?;
    let run = agent.run("What are Alice's and Bob's secret numbers?");
    println!("{}", run.await?.output);
    Ok(())
}
