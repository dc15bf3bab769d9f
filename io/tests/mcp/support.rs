//! What the tests share.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use stepwell_core::event::{ContentPart, MessageContent};
use stepwell_io::mcp::{McpConfig, McpEvent, McpEvents, McpOptions, McpServerConfig, McpServers};
use stepwell_io::tool::{SourcedTool, Tool, ToolAnswer, ToolFailure, ToolInvocation, ToolSource};

/// This program as a server.
pub(crate) fn child(manner: &str) -> McpServerConfig {
    let program = std::env::current_exe().expect("this program has a path");
    McpServerConfig::Stdio {
        command: program.to_string_lossy().into_owned(),
        args: Vec::new(),
        env: BTreeMap::from([(crate::server::MANNER.to_owned(), manner.to_owned())]),
        cwd: None,
        disabled: false,
    }
}

pub(crate) fn one(config: McpServerConfig) -> McpConfig {
    let mut all = McpConfig::default();
    all.servers.insert("test".to_owned(), config);
    all
}

/// No test waits for a pause.
pub(crate) fn options() -> McpOptions {
    let mut options = McpOptions::default();
    options.restart_pause = Duration::ZERO;
    options
}

pub(crate) async fn start(manner: &str) -> McpServers {
    start_with(manner, options()).await
}

pub(crate) async fn start_with(manner: &str, options: McpOptions) -> McpServers {
    let servers = McpServers::connect(one(child(manner)), options).await;
    servers.expect("the server starts")
}

pub(crate) fn find(servers: &McpServers, name: &str) -> SourcedTool {
    let tools = servers.tools();
    let tool = tools.iter().find(|tool| tool.tool.name() == name);
    tool.unwrap_or_else(|| panic!("no tool {name} in {:?}", names(servers)))
        .clone()
}

pub(crate) fn names(servers: &McpServers) -> Vec<String> {
    let tools = servers.tools();
    tools
        .iter()
        .map(|tool| tool.tool.name().to_owned())
        .collect()
}

pub(crate) fn definition(servers: &McpServers, name: &str) -> Tool {
    find(servers, name).tool
}

/// Calls a tool as a turn does.
pub(crate) async fn call(
    servers: &McpServers,
    name: &str,
    arguments: Value,
) -> Result<MessageContent, ToolFailure> {
    let invocation = ToolInvocation {
        tool_call_id: format!("call-of-{name}").into(),
        ..ToolInvocation::new(name, arguments)
    };
    let tool = find(servers, name);
    match tool.handler.call(invocation.into()).await? {
        ToolAnswer::Finished(output) => Ok(output.content),
        other => panic!("a tool of a server has a result, and this is {other:?}"),
    }
}

/// The result, as text.
pub(crate) async fn text(servers: &McpServers, name: &str, arguments: Value) -> String {
    let result = call(servers, name, arguments).await;
    result.expect("the call succeeds").to_text()
}

/// The error, as the model sees it.
pub(crate) async fn error(servers: &McpServers, name: &str, arguments: Value) -> String {
    let result = call(servers, name, arguments).await;
    result.expect_err("the call fails").message
}

/// Returns the child's own report.
pub(crate) async fn about(servers: &McpServers, variable: &str) -> Value {
    let arguments = serde_json::json!({ "variable": variable });
    let text = text(servers, "test__about", arguments).await;
    serde_json::from_str(&text).expect("JSON")
}

/// Waits for the event that `wanted` takes.
pub(crate) async fn wait_for<T>(
    events: &mut McpEvents,
    wanted: impl Fn(McpEvent) -> Option<T>,
) -> T {
    loop {
        let event = events.next().await.expect("the servers are there");
        if let Some(found) = wanted(event) {
            return found;
        }
    }
}

/// Waits for the end of the servers' story.
pub(crate) async fn rest(mut events: McpEvents) -> Vec<McpEvent> {
    let mut rest = Vec::new();
    while let Some(event) = events.next().await {
        rest.push(event);
    }
    rest
}

pub(crate) fn progress(event: McpEvent) -> Option<McpEvent> {
    matches!(event, McpEvent::Progress { .. }).then_some(event)
}

pub(crate) fn parts(content: MessageContent) -> Vec<ContentPart> {
    match content {
        MessageContent::Parts(parts) => parts,
        MessageContent::Text(text) => panic!("only text: {text}"),
    }
}

/// Returns whether the process exists, if only as a zombie.
pub(crate) fn exists(pid: u64) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}
