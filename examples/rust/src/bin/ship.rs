//! A tool that says how far it is, and asks the user: with the key in OPENAI_API_KEY, or with a base URL as the argument.
use stepwell_io::{Agent, Tool, ToolContext, UserAnswer, provider};

async fn ship(call: ToolContext) -> Result<String, Box<dyn std::error::Error>> {
    call.report(0.5, "packed");
    let answer = call.ask("How fast?").await?;
    let speed = answer.value().and_then(|value| value.as_str());
    let city: &String = call.deps()?;
    Ok(format!("it leaves {city} {}", speed.unwrap_or("later")))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1);
    let key = std::env::var("OPENAI_API_KEY").ok().map(Into::into);
    let endpoint = provider::find("openai")?.endpoint(None, "gpt-4o-mini", url.as_deref(), key)?;
    let agent = Agent::builder(endpoint)
        .deps("Bergen".to_owned())
        .tool(Tool::new("ship", "Ships the parcel."), ship)
        .answerer(|_, _| async { UserAnswer::given("today") });
    let finished = agent.build()?.send("Ship the parcel.").await?;
    println!("{}", finished.text());
    Ok(())
}
