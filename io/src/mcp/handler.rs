//! The notifications of a server.

use super::event::McpEvent;
use super::shortened;
use crate::app::tools::context::ToolContext;
use rmcp::ClientHandler;
use rmcp::RoleClient;
use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, ProgressNotificationParam, ProgressToken,
};
use rmcp::service::NotificationContext;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::{Mutex, Notify, broadcast};
use tracing::Span;

/// The most bytes of a progress message.
const MAX_MESSAGE_BYTES: usize = 1024;

/// A call that may report its progress.
#[derive(Debug)]
pub(super) struct Followed {
    pub(super) call: ToolContext,
    pub(super) span: Span,
    /// The last progress. Progress that does not increase is ignored: it came out of order.
    pub(super) last: Option<f64>,
}

/// The calls under way, by their tokens. The lock is held from before a request is sent until its token is in the map,
/// so that the first progress finds the call.
pub(super) type Calls = Arc<Mutex<HashMap<ProgressToken, Followed>>>;

/// Handles the notifications of a connection. It offers the server nothing: no sampling, no questions to the user, no
/// folders.
#[derive(Debug)]
pub(super) struct Handler {
    pub(super) server: Arc<str>,
    pub(super) calls: Calls,
    pub(super) tools_changed: Arc<Notify>,
    pub(super) events: broadcast::Sender<McpEvent>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let me = Implementation::new("stepwell", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), me)
    }

    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let mut calls = self.calls.lock().await;
        let Some(call) = calls.get_mut(&progress.progress_token) else {
            return;
        };
        if call.last.is_some_and(|last| progress.progress <= last) {
            return;
        }
        call.last = Some(progress.progress);
        let message = progress
            .message
            .map(|text| shortened(&text, MAX_MESSAGE_BYTES));
        tracing::debug!(
            target: "stepwell",
            parent: &call.span,
            progress = progress.progress,
            total = progress.total,
            message,
            "the tool has come further"
        );
        let total = progress.total.filter(|total| *total > 0.0);
        let fraction = total.map(|total| progress.progress / total);
        call.call
            .report(fraction, message.clone().unwrap_or_default());
        // There may be no reader.
        let _ = self.events.send(McpEvent::Progress {
            server: self.server.to_string(),
            tool: call.call.name.clone(),
            tool_call_id: call.call.tool_call_id.clone(),
            progress: progress.progress,
            total: progress.total,
            message,
        });
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tools_changed.notify_one();
    }
}
