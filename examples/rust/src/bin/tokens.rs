//! A key that expires, and a turn that is otherwise than its agent: with a base URL as the argument.
use stepwell_io::credentials::CredentialRequest;
use stepwell_io::{Agent, Model};

/// Stands for the app's own way to a token: from its cache, or anew.
async fn token(request: CredentialRequest) -> Result<String, std::io::Error> {
    let token = if request.rejected { "new" } else { "old" };
    Ok(token.to_owned())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or("which address?")?;
    let agent = Agent::builder(Model::openai("gpt-5-mini").base_url(url))
        .instructions("Answer in full sentences.")
        .credentials(token)
        .build()?;
    let run = agent.run("What is the capital of Norway?");
    let run = run.instructions("Answer in one word.").user("user-7");
    println!("{}", run.await?.output);
    Ok(())
}
