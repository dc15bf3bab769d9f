//! An axum app with an agent, for AG-UI clients and chats of the AI SDK: `serve 127.0.0.1:8080 MODEL_URL`.
use serde_json::json;
use stepwell_io::tool::Tool;
use stepwell_io::{Agent, Model};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let url = given.get(1).ok_or("which model's address?")?;
    let tool = Tool::new("get_secret_number", "Finds someone's secret number.")
        .parameters(json!({ "type": "object", "properties": { "name": { "type": "string" } } }));
    let agent = Agent::builder(Model::openai_compatible("any", url))
        .tool(tool, |call| async move {
            let known = call.arguments.value["name"] == "alice";
            if known { "42" } else { "7" }
        })
        .build()?;
    let address = given.first().map_or("127.0.0.1:8080", String::as_str);
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("AG-UI at http://{}/agent", listener.local_addr()?);
    axum::serve(listener, stepwell_serve::axum::router(agent)).await?;
    Ok(())
}
