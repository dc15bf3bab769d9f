//! A guard: it refuses a call, and an answer; with a base URL as the argument.
use stepwell_io::{Agent, Hook, HookAnswer, HookedAnswer, ToolInvocation, provider, tool, tools};

/// The secret number of a person.
#[tool]
async fn get_secret_number(name: String) -> u32 {
    if name == "alice" { 42 } else { 7 }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (url, key) = (std::env::args().nth(1), Some("key".into()));
    let endpoint = provider::find("openai")?.endpoint(None, "gpt-4o-mini", url.as_deref(), key)?;
    let guard = Hook::new("guard")
        .before_tool(|call: ToolInvocation| async move {
            let is_bob = call.arguments.value["name"] == "bob";
            is_bob.then(|| HookAnswer::refuse("Bob's is his own"))
        })
        .after_answer(|answer: HookedAnswer| async move {
            let tells = answer.text.contains("42");
            tells.then(|| HookAnswer::refuse("it tells the number"))
        });
    let agent = Agent::builder(endpoint).tools(tools![get_secret_number]);
    let turn = agent.hook(guard).build()?.send("What are the numbers?");
    let finished = turn.await.map_err(|refused| refused.to_string())?;
    println!("{}", finished.text());
    Ok(())
}
