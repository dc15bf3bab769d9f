//! The code of a server's tool, which calls the server.

use super::connection::{CallUnderWay, Connection, root_cause};
use super::content;
use super::handler::Followed;
use super::options::McpLimits;
use super::server::Server;
use super::shortened;
use crate::app::tools::context::ToolContext;
use crate::app::tools::handler::{ToolAnswer, ToolHandler};
use futures::FutureExt;
use futures::future::BoxFuture;
use rmcp::model::{CallToolRequestParams, ServerResult};
use rmcp::service::ServiceError;
use serde_json::{Map, Value};
use std::sync::Arc;
use stepwell_core::tool::{ToolFailure, ToolOutput};
use tracing::Span;

/// The most bytes of an error message that the model sees.
const MAX_MESSAGE_BYTES: usize = 4096;

pub(super) struct McpTool {
    pub(super) server: Arc<Server>,
    /// The server's name for the tool.
    pub(super) own_name: String,
}

impl ToolHandler for McpTool {
    fn call(&self, call: ToolContext) -> BoxFuture<'static, Result<ToolAnswer, ToolFailure>> {
        let server = Arc::clone(&self.server);
        let own_name = self.own_name.clone();
        async move { answer(&server, own_name, call).await }.boxed()
    }
}

async fn answer(
    server: &Server,
    own_name: String,
    call: ToolContext,
) -> Result<ToolAnswer, ToolFailure> {
    let name = &*server.target.name;
    let arguments = match &call.arguments.value {
        Value::Object(arguments) => arguments.clone(),
        Value::Null => Map::new(),
        _ => {
            return Err(ToolFailure::error(
                "the arguments of this tool must be a JSON object",
            ));
        }
    };
    let params = CallToolRequestParams::new(own_name).with_arguments(arguments);
    let (connection, sent) = send(server, params, &call).await?;
    let answer = match sent {
        Ok(under_way) => under_way.answer().await,
        Err(error) => Err(error),
    };
    match answer {
        Ok(result) => {
            connection.mark_answered();
            tool_output(name, result, &server.target.options.limits).map(ToolAnswer::Finished)
        }
        Err(error) => Err(ToolFailure::error(
            failure_message(name, error, &connection).await,
        )),
    }
}

/// Sends a call on the first connection that takes it.
async fn send(
    server: &Server,
    params: CallToolRequestParams,
    call: &ToolContext,
) -> Result<(Arc<Connection>, Result<CallUnderWay, ServiceError>), ToolFailure> {
    loop {
        let connection = server.connection().await.map_err(|reason| {
            let name = &server.target.name;
            ToolFailure::error(format!(
                "the MCP server `{name}` cannot be called: {reason}"
            ))
        })?;
        let followed = Followed {
            call: call.clone(),
            span: Span::current(),
            last: None,
        };
        match connection.call(params.clone(), followed).await {
            // The call was not sent: the next connection takes it.
            Err(ServiceError::TransportClosed) => drop(connection.lost().await),
            sent => return Ok((connection, sent)),
        }
    }
}

fn tool_output(
    name: &str,
    result: ServerResult,
    limits: &McpLimits,
) -> Result<ToolOutput, ToolFailure> {
    match result {
        ServerResult::CallToolResult(result) => content::result(result, limits),
        ServerResult::CustomResult(result) => content::unknown_result(result.0, limits),
        ServerResult::InputRequiredResult(_) => Err(ToolFailure::error(format!(
            "the MCP server `{name}` asks for input that this app cannot give"
        ))),
        _ => Err(ToolFailure::error(format!(
            "the MCP server `{name}` answered with something that is no result of a tool"
        ))),
    }
}

/// Returns why a call failed, in words for the model.
async fn failure_message(name: &str, error: ServiceError, connection: &Connection) -> String {
    match error {
        ServiceError::McpError(error) => {
            connection.mark_answered();
            let message = shortened(&error.message, MAX_MESSAGE_BYTES);
            format!(
                "the MCP server `{name}` refused the call: {message} (error {})",
                error.code.0
            )
        }
        // A child that reads no more does not answer either.
        ServiceError::TransportClosed | ServiceError::TransportSend(_) if connection.is_child() => {
            connection.give_up();
            let reason = connection.lost().await;
            format!(
                "the MCP server `{name}` was lost during the call: {reason}; whether the call did its work is not \
                 known, and the server is started again"
            )
        }
        ServiceError::TransportClosed => format!(
            "the MCP server `{name}` was lost during the call: its connection ended; whether the call did its work is \
             not known"
        ),
        ServiceError::TransportSend(error) => format!(
            "the MCP server `{name}` cannot be reached: {}",
            root_cause(&error)
        ),
        other => format!("the MCP server `{name}` gave no answer: {other}"),
    }
}
