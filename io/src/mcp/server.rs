//! A server, and its connections one after another.

use super::connection::{Connection, Target};
use super::event::McpEvent;
use super::list::Listed;
use crate::base::lock;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

/// The longest pause before a restart.
const MAX_RESTART_PAUSE: Duration = Duration::from_secs(30);

/// The pause between two lists of tools, for servers that report a change after every list.
const LIST_PAUSE: Duration = Duration::from_millis(200);

/// The time limit for closing a connection. A child process takes less, but a server at an address may be silent.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// A server, which is closed when this is dropped.
#[derive(Debug)]
pub(super) struct Running(pub(super) Arc<Server>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.closing.cancel();
    }
}

#[derive(Debug)]
pub(super) struct Server {
    pub(super) target: Target,
    state: watch::Sender<State>,
    tools: Mutex<Arc<[Listed]>>,
    /// Notified when a call waits for a server that was given up.
    wanted: Notify,
    closing: CancellationToken,
}

#[derive(Clone, Debug)]
enum State {
    Starting,
    Ready(Arc<Connection>),
    GivenUp(Arc<str>),
    Closed,
}

impl Server {
    /// Connects for the first time.
    ///
    /// # Errors
    /// The error is in words for the developer.
    pub(super) async fn start(target: Target) -> Result<Running, String> {
        let (connection, tools) = target.open().await?;
        let connection = Arc::new(connection);
        let server = Arc::new(Self {
            target,
            state: watch::Sender::new(State::Starting),
            tools: Mutex::new(Arc::default()),
            wanted: Notify::new(),
            closing: CancellationToken::new(),
        });
        server.set_ready(Arc::clone(&connection), tools);
        tokio::spawn(Arc::clone(&server).run(connection));
        Ok(Running(server))
    }

    /// Returns the server's last list of tools.
    pub(super) fn tools(&self) -> Arc<[Listed]> {
        Arc::clone(&lock(&self.tools))
    }

    /// Returns the connection as soon as there is one. A server that was given up is started once more.
    ///
    /// # Errors
    /// The error is in words for the model.
    pub(super) async fn connection(&self) -> Result<Arc<Connection>, String> {
        let mut states = self.state.subscribe();
        let mut has_asked = false;
        loop {
            let state = states.borrow_and_update().clone();
            match state {
                State::Ready(connection) if !connection.is_lost() => return Ok(connection),
                State::Closed => return Err("it was closed".to_owned()),
                State::GivenUp(reason) if has_asked => return Err(reason.to_string()),
                State::GivenUp(_) => {
                    has_asked = true;
                    self.wanted.notify_one();
                }
                // The server is being started again.
                State::Ready(_) | State::Starting => {}
            }
            if states.changed().await.is_err() {
                return Err("it was closed".to_owned());
            }
        }
    }

    /// Begins to close the server.
    pub(super) fn close(&self) {
        self.closing.cancel();
    }

    /// Waits until the server is closed.
    pub(super) async fn closed(&self) {
        let mut states = self.state.subscribe();
        // An error would mean that the server's task is gone.
        let _ = states
            .wait_for(|state| matches!(state, State::Closed))
            .await;
    }

    async fn run(self: Arc<Self>, mut connection: Arc<Connection>) {
        let mut failures = 0;
        loop {
            let reason = tokio::select! {
                biased;
                () = self.closing.cancelled() => {
                    let _ = tokio::time::timeout(CLOSE_TIMEOUT, connection.close()).await;
                    break;
                }
                _ = connection.lost() => connection.full_reason(),
                never = self.follow_tools(&connection) => match never {},
            };
            self.state.send_replace(State::Starting);
            failures = if connection.has_answered() {
                1
            } else {
                failures + 1
            };
            let restarted = self
                .closing
                .run_until_cancelled(self.restart(reason, &mut failures));
            let Some(restarted) = restarted.await else {
                break;
            };
            connection = restarted;
        }
        self.state.send_replace(State::Closed);
    }

    /// Starts the server again until it is ready. After the last attempt it waits for a call.
    async fn restart(&self, mut reason: String, failures: &mut u32) -> Arc<Connection> {
        loop {
            let restarts = *failures <= self.target.options.max_restarts;
            self.report_lost(&reason, restarts);
            if restarts {
                tokio::time::sleep(self.pause(*failures)).await;
            } else {
                self.state.send_replace(State::GivenUp(Arc::from(&*reason)));
                self.wanted.notified().await;
                self.state.send_replace(State::Starting);
            }
            match self.target.open().await {
                Ok((connection, tools)) => {
                    let connection = Arc::new(connection);
                    self.set_ready(Arc::clone(&connection), tools);
                    return connection;
                }
                Err(error) => {
                    *failures += 1;
                    reason = error;
                }
            }
        }
    }

    fn pause(&self, failures: u32) -> Duration {
        let Some(doubled) = failures.checked_sub(2) else {
            return Duration::ZERO;
        };
        let pause = self.target.options.restart_pause;
        let pause = pause.saturating_mul(2_u32.saturating_pow(doubled));
        pause.min(MAX_RESTART_PAUSE)
    }

    /// Lists the tools again whenever the server reports a change.
    async fn follow_tools(&self, connection: &Connection) -> Infallible {
        let server = &*self.target.name;
        let limit = self.target.options.connect_timeout;
        loop {
            connection.tools_changed.notified().await;
            match tokio::time::timeout(limit, connection.list(&self.target)).await {
                Ok(Ok(tools)) => {
                    let count = tools.len();
                    self.set_tools(tools);
                    self.send_event(McpEvent::ToolsChanged {
                        server: server.to_owned(),
                        tools: count,
                    });
                }
                Ok(Err(reason)) => {
                    tracing::warn!(target: "stepwell", server, reason, "the MCP server did not tell its tools again");
                }
                Err(_) => {
                    tracing::warn!(target: "stepwell", server, "the MCP server did not tell its tools again in time");
                }
            }
            tokio::time::sleep(LIST_PAUSE).await;
        }
    }

    fn set_ready(&self, connection: Arc<Connection>, tools: Arc<[Listed]>) {
        let server = &*self.target.name;
        tracing::info!(target: "stepwell", server, tools = tools.len(), "MCP server ready");
        let event = McpEvent::Ready {
            server: server.to_owned(),
            tools: tools.len(),
        };
        self.set_tools(tools);
        self.state.send_replace(State::Ready(connection));
        self.send_event(event);
    }

    /// A list that has not changed stays the same `Arc`.
    fn set_tools(&self, tools: Arc<[Listed]>) {
        let mut current = lock(&self.tools);
        if *current != tools {
            *current = tools;
        }
    }

    fn report_lost(&self, reason: &str, restarts: bool) {
        let server = &*self.target.name;
        tracing::warn!(target: "stepwell", server, restarts, "MCP server lost");
        tracing::debug!(target: "stepwell", server, reason, "why the MCP server was lost");
        self.send_event(McpEvent::Lost {
            server: server.to_owned(),
            reason: reason.to_owned(),
            restarts,
        });
    }

    fn send_event(&self, event: McpEvent) {
        // There may be no reader.
        let _ = self.target.events.send(event);
    }
}
