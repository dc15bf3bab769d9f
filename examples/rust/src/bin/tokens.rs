//! A key that expires, and a turn that is otherwise than its agent: with a base URL as the argument.
use stepwell_io::{Agent, CredentialRequest, provider};

/// Stands for the app's own way to a token: from its cache, or anew.
async fn token(request: CredentialRequest) -> Result<String, std::io::Error> {
    let token = if request.rejected { "new" } else { "old" };
    Ok(token.to_owned())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1);
    let openai = provider::find("openai")?;
    let endpoint = openai.endpoint_for_host(None, "gpt-4o-mini", url.as_deref(), None)?;
    let agent = Agent::builder(endpoint)
        .instructions("Answer in full sentences.")
        .credentials(token)
        .build()?;
    let turn = agent.turn("What is the capital of Norway?");
    let turn = turn.instructions("Answer in one word.").user("user-7");
    let finished = turn.send()?.await.map_err(|failed| failed.to_string())?;
    println!("{}", finished.text());
    Ok(())
}
