use super::call::McpTool;
use super::config::McpConfig;
use super::connection::Target;
use super::event::{MAX_WAITING_EVENTS, McpEvents};
use super::list::Listed;
use super::names::Names;
use super::options::McpOptions;
use super::server::{Running, Server};
use crate::app::tools::source::{SourcedTool, ToolSource};
use crate::base::lock;
use futures::future::join_all;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use tokio::sync::broadcast;

/// Running servers, whose tools an agent has: give it to
/// [`AgentBuilder::tool_source`](crate::AgentBuilder::tool_source). Clones are handles on the same servers, which are
/// closed with the last handle; agents hold handles too.
#[derive(Clone)]
pub struct McpServers {
    inner: Arc<Inner>,
}

struct Inner {
    servers: Vec<Running>,
    events: broadcast::Sender<super::McpEvent>,
    cached: Mutex<CachedTools>,
}

/// The last tools of this source, and the lists from which they were built.
#[derive(Default)]
struct CachedTools {
    of: Vec<Arc<[Listed]>>,
    tools: Arc<[SourcedTool]>,
}

/// Why servers cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// A server cannot be started, or did not answer.
    #[error("the MCP server `{server}` cannot be used: {reason}")]
    Server {
        /// The server.
        server: String,
        /// The reason for the failure.
        reason: String,
    },
    /// The tools of two servers would have the same names.
    #[error(
        "the MCP servers `{first}` and `{second}` have the same name for a model: rename one of them"
    )]
    SameName {
        /// One server.
        first: String,
        /// The other.
        second: String,
    },
}

impl fmt::Debug for McpServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl McpServers {
    /// Starts the servers or connects to them, all at the same time, and lists their tools.
    ///
    /// # Errors
    /// Two servers have the same name, or a server cannot be started, refused the handshake, or took too long. Then no
    /// server is left running.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub async fn connect(config: McpConfig, options: McpOptions) -> Result<Self, McpError> {
        let (events, _) = broadcast::channel(MAX_WAITING_EVENTS);
        let mut prefixes = BTreeMap::new();
        let mut starts = Vec::new();
        for (name, config) in config.servers {
            if config.is_disabled() {
                continue;
            }
            if let Some(first) = prefixes.insert(Names::new(&name).take(""), name.clone()) {
                let second = name;
                return Err(McpError::SameName { first, second });
            }
            let target = Target {
                name: Arc::from(&*name),
                config,
                options: options.clone(),
                events: events.clone(),
            };
            starts.push(async move {
                let started = Server::start(target).await;
                started.map_err(|reason| McpError::Server {
                    server: name,
                    reason,
                })
            });
        }
        let mut servers = Vec::new();
        let mut failed = None;
        for started in join_all(starts).await {
            match started {
                Ok(server) => servers.push(server),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        let servers = Self {
            inner: Arc::new(Inner {
                servers,
                events,
                cached: Mutex::default(),
            }),
        };
        match failed {
            None => Ok(servers),
            Some(error) => {
                servers.close().await;
                Err(error)
            }
        }
    }

    /// Returns the servers' names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.inner
            .servers
            .iter()
            .map(|Running(server)| &*server.target.name)
    }

    /// Returns the servers' events from now on: progress, changes, losses.
    #[must_use]
    pub fn events(&self) -> McpEvents {
        McpEvents(self.inner.events.subscribe())
    }

    /// Ends the servers and waits until they have ended, a few seconds at most: first their input is closed, then they
    /// get a signal to end, then they are killed. Calls under way get an error.
    pub async fn close(&self) {
        let servers = self.inner.servers.iter();
        join_all(servers.map(|Running(server)| {
            server.close();
            server.closed()
        }))
        .await;
    }
}

impl ToolSource for McpServers {
    fn tools(&self) -> Arc<[SourcedTool]> {
        let servers = &self.inner.servers;
        let of: Vec<_> = servers.iter().map(|server| server.0.tools()).collect();
        let mut cached = lock(&self.inner.cached);
        let mut pairs = cached.of.iter().zip(&of);
        let is_same = cached.of.len() == of.len() && pairs.all(|(a, b)| Arc::ptr_eq(a, b));
        if !is_same {
            let tools = servers
                .iter()
                .zip(&of)
                .flat_map(|(Running(server), listed)| {
                    listed.iter().map(|listed| SourcedTool {
                        tool: listed.tool.clone(),
                        handler: Arc::new(McpTool {
                            server: Arc::clone(server),
                            own_name: listed.own_name.clone(),
                        }),
                    })
                });
            cached.tools = tools.collect();
            cached.of = of;
        }
        Arc::clone(&cached.tools)
    }
}
