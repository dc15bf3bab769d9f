//! A question about a picture, whose path or address is the argument. A second one is another base URL.
use stepwell_io::media::image;
use stepwell_io::{Agent, provider};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let picture = image(arguments.next().ok_or("which picture?")?)?;
    let url = arguments.next();
    let key = std::env::var("OPENAI_API_KEY").ok().map(Into::into);
    let endpoint = provider::find("openai")?.endpoint(None, "gpt-4o-mini", url.as_deref(), key)?;
    let agent = Agent::builder(endpoint).build()?;
    let finished = agent.send(("What is this?", picture)).await?;
    println!("{}", finished.text());
    Ok(())
}
