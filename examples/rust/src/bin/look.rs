//! A question about a picture, whose path or address is the argument. A second one is another base URL.
use stepwell_io::media::image;
use stepwell_io::{Agent, Model};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let picture = image(arguments.next().ok_or("which picture?")?)?;
    let mut model = Model::openai("gpt-5-mini");
    if let Some(url) = arguments.next() {
        model = model.base_url(url);
    }
    let result = Agent::new(model).run(("What is this?", picture)).await?;
    println!("{}", result.output);
    Ok(())
}
