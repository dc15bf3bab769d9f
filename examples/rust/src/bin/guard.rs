//! A guard: it refuses a call, and an answer; with a base URL as the argument.
use stepwell_io::hook::{Hook, HookAnswer, HookedAnswer};
use stepwell_io::tool::ToolInvocation;
use stepwell_io::{Agent, Model, tool, tools};

/// The secret number of a person.
#[tool]
async fn get_secret_number(name: String) -> u32 {
    if name == "alice" { 42 } else { 7 }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or("which address?")?;
    let model = Model::openai("gpt-5-mini").base_url(url);
    let guard = Hook::new("guard")
        .before_tool(|call: ToolInvocation| async move {
            let is_bob = call.arguments.value["name"] == "bob";
            is_bob.then(|| HookAnswer::refuse("Bob's is his own"))
        })
        .after_answer(|answer: HookedAnswer| async move {
            let tells = answer.text.contains("42");
            tells.then(|| HookAnswer::refuse("it tells the number"))
        });
    let agent = Agent::builder(model).tools(tools![get_secret_number]);
    let run = agent.hook(guard).build()?.run("What are the numbers?");
    println!("{}", run.await?.output);
    Ok(())
}
