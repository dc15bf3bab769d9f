//! A connection to a server, from the handshake until it is lost or closed.

use super::config::McpServerConfig;
use super::event::McpEvent;
use super::handler::{Calls, Followed, Handler};
use super::list::{self, Listed};
use super::options::McpOptions;
use super::shortened;
use super::transport::{self, ChildTransport, Ending, Program};
use crate::http::SendError;
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, ProtocolVersion, ServerNotification,
    ServerResult, SubscriptionFilter,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, Peer, PeerRequestOptions, RequestHandle,
    ServiceError, serve_client_with_lifecycle_and_ct,
};
use rmcp::transport::IntoTransport;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::{Notify, broadcast, watch};
use tokio_util::sync::CancellationToken;

/// The server of a connection, and what all connections of the server share.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) name: Arc<str>,
    pub(super) config: McpServerConfig,
    pub(super) options: McpOptions,
    pub(super) events: broadcast::Sender<McpEvent>,
}

/// A server that has answered the handshake.
#[derive(Debug)]
pub(super) struct Connection {
    peer: Peer<RoleClient>,
    calls: Calls,
    pub(super) tools_changed: Arc<Notify>,
    end: CancellationToken,
    ended: CancellationToken,
    ending: Option<watch::Receiver<Ending>>,
    /// The server has answered a call: a later loss is no failure to start.
    answered: AtomicBool,
}

impl Target {
    /// Connects and lists the tools, within the time that the options allow.
    ///
    /// # Errors
    /// The error is in words for the developer.
    pub(super) async fn open(&self) -> Result<(Connection, Arc<[Listed]>), String> {
        let limit = self.options.connect_timeout;
        let mut ending = None;
        let opened = tokio::time::timeout(limit, self.hand_shake(&mut ending)).await;
        let reason = match opened {
            Ok(Ok(opened)) => return Ok(opened),
            Ok(Err(reason)) => reason,
            Err(_) => {
                let words = ending.map(|ending| ending.borrow().last_words.clone());
                let words = words.filter(|words| !words.is_empty());
                let words = words.map_or_else(String::new, |words| {
                    let words = shortened(&words, 300);
                    format!("; the last line of its standard error is `{words}`")
                });
                return Err(format!(
                    "it did not answer the handshake within {} seconds{words}",
                    limit.as_secs_f64()
                ));
            }
        };
        // The reason is known once the child has ended, and the child is being ended.
        let Some(mut ending) = ending else {
            return Err(reason);
        };
        match ending.wait_for(|ending| ending.status.is_some()).await {
            Ok(ending) => Err(format!("{reason}; {}", ending.full_reason())),
            Err(_) => Err(reason),
        }
    }

    async fn hand_shake(
        &self,
        ending: &mut Option<watch::Receiver<Ending>>,
    ) -> Result<(Connection, Arc<[Listed]>), String> {
        let opened = self.serve(ClientLifecycleMode::Initialize, ending).await;
        let connection = match opened {
            Err(Refusal::NoInitialize(reason)) => {
                // The server may have the revision of the protocol that has no handshake.
                let mode = ClientLifecycleMode::Discover {
                    preferred_versions: vec![ProtocolVersion::LATEST],
                };
                self.serve(mode, ending).await.map_err(|_| reason)
            }
            opened => opened.map_err(|refusal| refusal.reason()),
        }?;
        let tools = connection.list(self).await;
        let tools = tools.map_err(|error| format!("it did not tell its tools: {error}"))?;
        Ok((connection, tools))
    }

    async fn serve(
        &self,
        mode: ClientLifecycleMode,
        ending: &mut Option<watch::Receiver<Ending>>,
    ) -> Result<Connection, Refusal> {
        let bytes = self.options.limits.message_bytes;
        match &self.config {
            McpServerConfig::Stdio {
                command,
                args,
                env,
                cwd,
                ..
            } => {
                let child = ChildTransport::start(&Program {
                    server: &self.name,
                    command,
                    args,
                    env,
                    cwd: cwd.as_deref(),
                    passed_variables: &self.options.passed_variables,
                    message_bytes: bytes,
                });
                let child = child.map_err(|error| {
                    Refusal::Other(format!("`{command}` cannot be started: {error}"))
                })?;
                *ending = Some(child.ending());
                self.serve_over(child, mode, ending.clone()).await
            }
            McpServerConfig::Http { url, headers, .. } => {
                let http = transport::http(url, headers, bytes).map_err(Refusal::Other)?;
                self.serve_over(http, mode, None).await
            }
        }
    }

    async fn serve_over<T, E, A>(
        &self,
        transport: T,
        mode: ClientLifecycleMode,
        ending: Option<watch::Receiver<Ending>>,
    ) -> Result<Connection, Refusal>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: Error + Send + Sync + 'static,
    {
        let calls = Calls::default();
        let tools_changed = Arc::new(Notify::new());
        let handler = Handler {
            server: Arc::clone(&self.name),
            calls: Arc::clone(&calls),
            tools_changed: Arc::clone(&tools_changed),
            events: self.events.clone(),
        };
        let end = CancellationToken::new();
        let service = serve_client_with_lifecycle_and_ct(handler, transport, mode, end.clone());
        let is_child = ending.is_some();
        let service = service.await;
        let service = service.map_err(|error| Refusal::of(error, is_child))?;
        let connection = Connection {
            peer: service.peer().clone(),
            calls,
            tools_changed,
            end,
            ended: CancellationToken::new(),
            ending,
            answered: AtomicBool::new(false),
        };
        let ended = connection.ended.clone();
        tokio::spawn(async move {
            let _ = service.waiting().await;
            ended.cancel();
        });
        connection.subscribe();
        Ok(connection)
    }
}

/// Why a handshake failed.
enum Refusal {
    /// The server does not know the handshake.
    NoInitialize(String),
    Other(String),
}

impl Refusal {
    fn of(error: ClientInitializeError, is_child: bool) -> Self {
        match error {
            ClientInitializeError::JsonRpcError(error) => {
                let message = shortened(&error.message, 300);
                Self::NoInitialize(format!(
                    "it refused the handshake: {message} (error {})",
                    error.code.0
                ))
            }
            ClientInitializeError::TransportError { error, .. } if !is_child => {
                Self::Other(format!("it cannot be reached: {}", root_cause(&error)))
            }
            ClientInitializeError::ConnectionClosed(_)
            | ClientInitializeError::TransportError { .. } => {
                Self::Other("it broke off the handshake".to_owned())
            }
            other => Self::Other(format!(
                "the handshake failed: {}",
                shortened(&other.to_string(), 300)
            )),
        }
    }

    fn reason(self) -> String {
        let (Self::NoInitialize(reason) | Self::Other(reason)) = self;
        reason
    }
}

/// Returns the text of the innermost error: the outer errors repeat the address, which may hold a key.
pub(super) fn root_cause(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    loop {
        // The SDK does not give this error as a source.
        let client = match cause.downcast_ref::<StreamableHttpError<SendError>>() {
            Some(StreamableHttpError::Client(client)) => Some(client as &(dyn Error + 'static)),
            _ => None,
        };
        match client.or_else(|| cause.source()) {
            Some(inner) => cause = inner,
            None => return shortened(&cause.to_string(), 300),
        }
    }
}

impl Connection {
    /// Lists the tools.
    pub(super) async fn list(&self, target: &Target) -> Result<Arc<[Listed]>, String> {
        let info = self.peer.peer_info();
        if info.is_none_or(|info| info.capabilities.tools.is_none()) {
            tracing::warn!(target: "stepwell", server = &*target.name, "the MCP server has no tools");
            return Ok(Arc::default());
        }
        let tools = list::fetch(&self.peer, target.options.limits.tools).await;
        let tools = tools.map_err(|error| self.failure(&error))?;
        Ok(list::listed(&target.name, tools, &target.options).into())
    }

    /// Sends a call.
    pub(super) async fn call(
        &self,
        params: CallToolRequestParams,
        followed: Followed,
    ) -> Result<CallUnderWay, ServiceError> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let mut calls = self.calls.lock().await;
        let handle = self
            .peer
            .send_request_with_option(request, PeerRequestOptions::no_options())
            .await?;
        calls.insert(handle.progress_token.clone(), followed);
        Ok(CallUnderWay {
            handle: Some(handle),
            calls: Arc::clone(&self.calls),
        })
    }

    /// Returns whether the server is a child process. A server at an address may answer again after its connection is
    /// lost.
    pub(super) fn is_child(&self) -> bool {
        self.ending.is_some()
    }

    pub(super) fn mark_answered(&self) {
        self.answered.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    pub(super) fn is_lost(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// Waits until the connection is lost, and returns the reason, in words for the model.
    pub(super) async fn lost(&self) -> String {
        self.ended.cancelled().await;
        match &self.ending {
            Some(ending) => ending.borrow().reason(),
            None => "its connection was lost".to_owned(),
        }
    }

    /// Returns why the connection was lost, in words for the developer.
    pub(super) fn full_reason(&self) -> String {
        match &self.ending {
            Some(ending) => ending.borrow().full_reason(),
            None => "its connection was lost".to_owned(),
        }
    }

    /// Ends the connection, if it has not ended.
    pub(super) fn give_up(&self) {
        self.end.cancel();
    }

    /// Ends the connection, and waits until its server has ended.
    pub(super) async fn close(&self) {
        self.end.cancel();
        self.ended.cancelled().await;
    }

    fn failure(&self, error: &ServiceError) -> String {
        match error {
            ServiceError::McpError(error) => shortened(&error.message, 300),
            ServiceError::TransportSend(error) => root_cause(error),
            other => other.to_string(),
        }
    }

    /// Subscribes to changes of the tools, as the revision of the protocol without handshake demands.
    fn subscribe(&self) {
        let info = self.peer.peer_info();
        if info.is_none_or(|info| info.protocol_version.has_initialize()) {
            return;
        }
        let peer = self.peer.clone();
        let changed = Arc::clone(&self.tools_changed);
        let ended = self.ended.clone();
        let follow = async move {
            let filter = SubscriptionFilter::builder().tools_list_changed().build();
            let Ok(mut news) = peer.listen(filter).await else {
                return;
            };
            while let Ok(Some(news)) = news.next().await {
                if let ServerNotification::ToolListChangedNotification(_) = news {
                    changed.notify_one();
                }
            }
        };
        tokio::spawn(async move { ended.run_until_cancelled(follow).await });
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.end.cancel();
    }
}

/// A call that was sent. If it is dropped before its answer, the server is asked to cancel it.
pub(super) struct CallUnderWay {
    handle: Option<RequestHandle<RoleClient>>,
    calls: Calls,
}

impl CallUnderWay {
    pub(super) async fn answer(mut self) -> Result<ServerResult, ServiceError> {
        let Some(handle) = &mut self.handle else {
            return Err(ServiceError::TransportClosed);
        };
        let answer = (&mut handle.rx).await;
        let token = handle.progress_token.clone();
        self.handle = None;
        self.calls.lock().await.remove(&token);
        answer.unwrap_or(Err(ServiceError::TransportClosed))
    }
}

impl Drop for CallUnderWay {
    fn drop(&mut self) {
        let Some(handle) = self.handle.take() else {
            return;
        };
        let calls = Arc::clone(&self.calls);
        // Outside of a runtime the connection is gone too.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        runtime.spawn(async move {
            calls.lock().await.remove(&handle.progress_token);
            // An error means that the server is gone, and the call with it.
            let _ = handle
                .cancel(Some("the client no longer waits for it".to_owned()))
                .await;
        });
    }
}
