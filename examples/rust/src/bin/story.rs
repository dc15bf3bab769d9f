//! An answer that survives a broken connection: with the key in OPENAI_API_KEY, or with a base URL as the argument.
use stepwell_io::{Agent, Error, Model};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let mut model = Model::openai("gpt-5").in_background();
    if let Some(url) = std::env::args().nth(1) {
        model = model.base_url(url);
    }
    let run = Agent::new(model).run("Write a long story about otters in space.");
    println!("{}", run.await?.output);
    Ok(())
}
