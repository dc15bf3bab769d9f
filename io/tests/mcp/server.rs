//! An MCP server for the tests.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, InitializeRequestParams,
    InitializeResult, ListToolsResult, PaginatedRequestParams, PingRequest,
    ProgressNotificationParam, Resource, ResourceContents, ServerCapabilities, ServerConfig,
    ServerRequest, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Map, Value, json};
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::Notify;

/// The variable that makes this program a server of a certain kind.
pub(crate) const MANNER: &str = "STEPWELL_TEST_MCP_SERVER";

/// A picture of one pixel.
pub(crate) const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Runs the server on standard input and output.
pub(crate) fn run(manner: &str) -> ExitCode {
    eprintln!("starting as {manner}");
    match manner {
        "broken" => {
            eprintln!("no licence was found");
            return ExitCode::from(3);
        }
        "silent" => {
            // Until the client closes it.
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            return ExitCode::SUCCESS;
        }
        "chatty" => {
            println!("Welcome!\n{{\"this\": \"is no message\"}}\n[1, 2\n");
            println!("\u{0}\u{1}");
            std::io::stdout().flush().expect("written");
        }
        _ => {}
    }
    let server = Server {
        manner: manner.to_owned(),
        ..Server::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let stdio = rmcp::transport::stdio();
        if let Ok(service) = server.serve(stdio).await {
            let _ = service.waiting().await;
        }
    });
    ExitCode::SUCCESS
}

/// One server, or one session of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Server {
    manner: String,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    cancelled: AtomicU64,
    saw_a_cancel: Notify,
    has_grown: AtomicBool,
}

fn tool(name: &str, properties: impl Into<Value>, required: &[&str]) -> Tool {
    let properties = properties.into();
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    let schema: Map<String, Value> = serde_json::from_value(schema).expect("an object");
    Tool::new(
        name.to_owned(),
        format!("The tool {name}."),
        Arc::new(schema),
    )
}

/// A schema that applies 2^20 schemas to one value.
fn doubling() -> Map<String, Value> {
    let mut definitions = Map::from_iter([("d20".to_owned(), json!({}))]);
    for link in 0..20 {
        let next = json!({ "$ref": format!("#/$defs/d{}", link + 1) });
        definitions.insert(format!("d{link}"), json!({ "allOf": [next, next] }));
    }
    Map::from_iter([
        ("type".to_owned(), json!("object")),
        ("$defs".to_owned(), definitions.into()),
        ("allOf".to_owned(), json!([{ "$ref": "#/$defs/d0" }])),
    ])
}

impl Server {
    fn tools(&self) -> Vec<Tool> {
        let none = || json!({});
        let mut tools = vec![
            tool(
                "echo",
                json!({ "text": { "type": "string", "minLength": 1 } }),
                &["text"],
            )
            .with_annotations(ToolAnnotations::new().read_only(true)),
            tool("set name.of", none(), &[])
                .with_annotations(ToolAnnotations::new().destructive(false).idempotent(true)),
            tool("fail", none(), &[]),
            tool("refuse", none(), &[]),
            tool("media", none(), &[]),
            tool(
                "structured",
                json!({ "as_text_too": { "type": "boolean" } }),
                &[],
            ),
            tool("slow", none(), &[]),
            tool("cancelled", json!({ "times": { "type": "integer" } }), &[]),
            tool("grow", none(), &[]),
            tool("about", json!({ "variable": { "type": "string" } }), &[]),
            tool(
                "large",
                json!({ "bytes": { "type": "integer" } }),
                &["bytes"],
            ),
        ];
        if self.shared.has_grown.load(Ordering::SeqCst) {
            tools.push(tool("grown", none(), &[]));
        }
        if self.manner == "raw" {
            tools.push(tool("raw", json!({ "result": { "type": "string" } }), &[]));
        }
        if self.manner == "many" {
            let many = (0..100).map(|index| tool(&format!("many_{index}"), none(), &[]));
            tools.extend(many);
            let mut broken = tool("broken", none(), &[]);
            broken.input_schema = Arc::new(Map::from_iter([("type".to_owned(), json!("text"))]));
            tools.insert(0, broken);
            let mut costly = tool("costly", none(), &[]);
            costly.input_schema = Arc::new(doubling());
            tools.insert(0, costly);
            let long = json!({ "text": { "description": "long ".repeat(1000) } });
            tools.insert(0, tool("wordy", long, &[]));
            tools.insert(0, tool("echo", none(), &[]));
        }
        tools
    }

    async fn slow(&self, context: &RequestContext<RoleServer>) -> String {
        let token = context.meta.get_progress_token();
        let token = token.expect("the client asks for progress");
        for (done, words) in [
            (1.0, "one half"),
            (0.5, "a step back"),
            (1.5, "three quarters"),
        ] {
            let progress = ProgressNotificationParam::new(token.clone(), done)
                .with_total(2.0)
                .with_message(words);
            let sent = context.peer.notify_progress(progress).await;
            sent.expect("the client is there");
        }
        context.ct.cancelled().await;
        self.shared.cancelled.fetch_add(1, Ordering::SeqCst);
        self.shared.saw_a_cancel.notify_one();
        "nobody reads this".to_owned()
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        ServerConfig::new(capabilities)
    }

    async fn initialize(
        &self,
        _: InitializeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        if self.manner == "modern" {
            return Err(ErrorData::method_not_found::<
                rmcp::model::InitializeResultMethod,
            >());
        }
        Ok(self.get_info())
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if self.manner == "doomed" {
            let tools = ListToolsResult::with_all_items(self.tools());
            // After the answer, but before any call. What the client answers to comes after what it was sent.
            let client = context.peer.clone();
            tokio::spawn(async move {
                for _ in 0..2 {
                    let ping = PingRequest::default();
                    let answer = client.send_request(ServerRequest::PingRequest(ping)).await;
                    answer.expect("the client is there");
                }
                eprintln!("out of luck");
                std::process::exit(7);
            });
            return Ok(tools);
        }
        // In pages of five, to see that all are asked for.
        let start = page.and_then(|page| page.cursor).unwrap_or_default();
        let start: usize = start.parse().unwrap_or_default();
        let all = self.tools();
        let mut result =
            ListToolsResult::with_all_items(all[start..].iter().take(5).cloned().collect());
        if start + 5 < all.len() {
            result.next_cursor = Some((start + 5).to_string());
        }
        Ok(result)
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if self.manner == "doomed" {
            std::future::pending::<()>().await;
        }
        let arguments = Value::Object(call.arguments.unwrap_or_default());
        let text = |text: String| CallToolResult::success(vec![ContentBlock::text(text)]);
        let result = match &*call.name {
            "echo" => text(arguments["text"].as_str().unwrap_or_default().to_owned()),
            "set name.of" => text("set".to_owned()),
            "fail" => CallToolResult::error(vec![
                ContentBlock::text("the disk is full"),
                ContentBlock::image(PIXEL, "image/png"),
            ]),
            "refuse" => return Err(ErrorData::invalid_params("no such folder", None)),
            "media" => CallToolResult::success(vec![
                ContentBlock::text("a pixel:"),
                ContentBlock::image(PIXEL, "image/png"),
                ContentBlock::audio("AAAA", "audio/wav"),
                ContentBlock::image("this is not base64", "image/png"),
                ContentBlock::embedded_text("file:///notes.txt", "buy milk"),
                ContentBlock::resource(
                    ResourceContents::blob("AAAA", "file:///a.pdf")
                        .with_mime_type("application/pdf"),
                ),
                ContentBlock::resource_link(Resource::new("file:///b.txt", "b")),
            ]),
            "structured" => {
                let value = json!({ "degrees": 21 });
                let mut result = CallToolResult::structured(value.clone());
                let repeats = arguments["as_text_too"] == true;
                result.content = if repeats {
                    vec![ContentBlock::text(value.to_string())]
                } else {
                    vec![ContentBlock::text("It is warm.")]
                };
                result
            }
            "slow" => text(self.slow(&context).await),
            "cancelled" => {
                let times = arguments["times"].as_u64().unwrap_or(1);
                while self.shared.cancelled.load(Ordering::SeqCst) < times {
                    self.shared.saw_a_cancel.notified().await;
                }
                text(self.shared.cancelled.load(Ordering::SeqCst).to_string())
            }
            "grow" => {
                self.shared.has_grown.store(true, Ordering::SeqCst);
                let told = context.peer.notify_tool_list_changed().await;
                told.expect("the client is there");
                text("grown".to_owned())
            }
            "grown" => text("I am new".to_owned()),
            "about" => {
                let variable = arguments["variable"].as_str().unwrap_or("NONE");
                text(
                    json!({
                        "pid": std::process::id(),
                        "folder": std::env::current_dir().expect("a folder"),
                        "variable": std::env::var(variable).ok(),
                    })
                    .to_string(),
                )
            }
            "raw" => {
                // Some servers return a text that is not JSON, or JSON that is no text.
                let result = arguments["result"].as_str().unwrap_or_default();
                let id = json!(context.id);
                println!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
                std::io::stdout().flush().expect("written");
                return std::future::pending().await;
            }
            "large" => {
                let bytes = arguments["bytes"].as_u64().expect("a number");
                text("x".repeat(usize::try_from(bytes).expect("a length")))
            }
            other => {
                return Err(ErrorData::invalid_params(
                    format!("no tool `{other}`"),
                    None,
                ));
            }
        };
        Ok(result.into())
    }
}
