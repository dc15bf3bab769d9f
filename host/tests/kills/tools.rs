//! An MCP server over streamable HTTP (<https://modelcontextprotocol.io/specification/2025-06-18/basic/transports>)
//! with three tools. Each run of one leaves a line in a file.

use crate::moments::Moments;
use axum::Router;
use axum::extract::{Json, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

struct Tools {
    moments: Moments,
    effects: PathBuf,
}

/// Starts it, and gives a file that names it to the host.
pub(crate) async fn start(moments: Moments, effects: PathBuf) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let config = effects.with_file_name("mcp.json");
    let tools = Arc::new(Tools { moments, effects });
    let app = Router::new().route("/mcp", post(message)).with_state(tools);
    tokio::spawn(async move { axum::serve(listener, app).await });
    let servers = json!({"mcpServers": {"effects": {"url": format!("http://{address}/mcp")}}});
    std::fs::write(&config, servers.to_string()).unwrap();
    config.display().to_string()
}

async fn message(State(tools): State<Arc<Tools>>, Json(message): Json<Value>) -> Response {
    let Some(id) = message.get("id") else {
        return StatusCode::ACCEPTED.into_response();
    };
    let result = match message["method"].as_str().unwrap() {
        "initialize" => json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "effects", "version": "1" },
        }),
        "tools/list" => {
            json!({ "tools": [tool("work", false), tool("look", true), tool("ask", false)] })
        }
        "tools/call" => tools.run(&message["params"]),
        _ => json!({}),
    };
    Json(json!({ "jsonrpc": "2.0", "id": id, "result": result })).into_response()
}

fn tool(name: &str, is_idempotent: bool) -> Value {
    json!({
        "name": name,
        "description": "Leaves a mark.",
        "inputSchema": { "type": "object", "properties": { "id": { "type": "string" }, "note": { "type": "string" } } },
        "annotations": { "idempotentHint": is_idempotent },
    })
}

impl Tools {
    fn run(&self, parameters: &Value) -> Value {
        let call = parameters["arguments"]["id"].as_str().unwrap();
        self.moments.step();
        // One write at the end of the file: a line is complete.
        let mut file = OpenOptions::new().append(true).open(&self.effects).unwrap();
        let note = parameters["arguments"]["note"].as_str();
        let done = match note {
            Some(note) => format!("{call} {note}"),
            None => call.to_owned(),
        };
        file.write_all(format!("{done}\n").as_bytes()).unwrap();
        self.moments.step();
        json!({ "content": [{ "type": "text", "text": format!("{done} is done") }] })
    }
}
