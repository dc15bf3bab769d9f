//! A tool that says how far it is, and asks the user: with the key in OPENAI_API_KEY, or with a base URL as the argument.
use stepwell_io::tool::{Tool, ToolContext, UserAnswer};
use stepwell_io::{Agent, Model};

async fn ship(call: ToolContext<String>) -> Result<String, Box<dyn std::error::Error>> {
    call.report(0.5, "packed");
    let answer = call.ask("How fast?").await?;
    let speed = answer.value().and_then(|value| value.as_str());
    let (city, speed) = (call.deps(), speed.unwrap_or("later"));
    Ok(format!("it leaves {city} {speed}"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut model = Model::openai("gpt-5-mini");
    if let Some(url) = std::env::args().nth(1) {
        model = model.base_url(url);
    }
    let agent = Agent::builder(model)
        .tool(Tool::new("ship", "Ships the parcel."), ship)
        .answerer(|_, _| async { UserAnswer::given("today") });
    let agent = agent.deps("Bergen".to_owned()).build()?;
    println!("{}", agent.run("Ship the parcel.").await?.output);
    Ok(())
}
