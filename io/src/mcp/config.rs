use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The servers to start, by name, in the JSON that other clients have too:
///
/// ```json
/// {
///   "mcpServers": {
///     "files": { "command": "npx", "args": ["-y", "some-server"], "env": { "ROOT": "/srv" }, "cwd": "/srv" },
///     "search": { "url": "https://search.example/mcp", "headers": { "Authorization": "Bearer …" } }
///   }
/// }
/// ```
///
/// A server with `"disabled": true` is not started. Fields that only other clients know are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct McpConfig {
    /// The servers. A tool's name begins with its server's, so short names of letters, digits, `-` and `_` are best.
    #[serde(rename = "mcpServers")]
    pub servers: BTreeMap<String, McpServerConfig>,
}

/// The way to reach a server.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, try_from = "ServerFields")]
#[non_exhaustive]
pub enum McpServerConfig {
    /// The server is started as a child process, and communicates over standard input and output.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        args: Vec<String>,
        /// The variables of its environment, besides the few that every server gets
        /// ([`McpOptions::passed_variables`](super::McpOptions::passed_variables)). The value `${NAME}` is that of the
        /// app's variable.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        env: BTreeMap<String, String>,
        /// The working directory; the app's if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        cwd: Option<PathBuf>,
        /// The server is not started.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        disabled: bool,
    },
    /// The server is at an address, and communicates over streamable HTTP.
    Http {
        /// The address.
        url: String,
        /// Headers of every request to the server.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        headers: BTreeMap<String, String>,
        /// The server is not connected to.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        disabled: bool,
    },
}

/// Why a file of servers cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a list of MCP servers: {reason}")]
pub struct McpConfigError {
    reason: String,
}

/// All fields that a server's entry may have.
#[derive(Deserialize)]
struct ServerFields {
    #[serde(rename = "type")]
    kind: Option<String>,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<PathBuf>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    disabled: bool,
}

impl TryFrom<ServerFields> for McpServerConfig {
    type Error = String;

    fn try_from(fields: ServerFields) -> Result<Self, String> {
        let kind = fields.kind.as_deref();
        if let Some("sse" | "ws" | "websocket") = kind {
            let kind = kind.unwrap_or_default();
            return Err(format!(
                "servers of type `{kind}` cannot be spoken to: only `stdio` and `http`, which is streamable HTTP"
            ));
        }
        match (fields.command, fields.url) {
            (Some(command), None) => Ok(Self::Stdio {
                command,
                args: fields.args,
                env: fields.env,
                cwd: fields.cwd,
                disabled: fields.disabled,
            }),
            (None, Some(url)) => Ok(Self::Http {
                url,
                headers: fields.headers,
                disabled: fields.disabled,
            }),
            (Some(_), Some(_)) => Err("a server has either `command` or `url`, not both".into()),
            (None, None) => Err("a server has `command`, or `url`".into()),
        }
    }
}

impl McpServerConfig {
    /// Returns a server that is started as a child process.
    pub fn stdio<A: Into<String>>(
        command: impl Into<String>,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        Self::Stdio {
            command: command.into(),
            args: args.into_iter().map(Into::into).collect(),
            env: BTreeMap::new(),
            cwd: None,
            disabled: false,
        }
    }

    /// Returns a server at an address.
    pub fn http(url: impl Into<String>) -> Self {
        Self::Http {
            url: url.into(),
            headers: BTreeMap::new(),
            disabled: false,
        }
    }

    /// Returns whether the server is left alone.
    #[must_use]
    pub fn is_disabled(&self) -> bool {
        let (Self::Stdio { disabled, .. } | Self::Http { disabled, .. }) = self;
        *disabled
    }
}

impl FromStr for McpConfig {
    type Err = McpConfigError;

    /// Reads the JSON of a file.
    fn from_str(text: &str) -> Result<Self, McpConfigError> {
        // The error has line and column, and none of the text, which may hold keys.
        serde_json::from_str(text).map_err(|error| McpConfigError {
            reason: error.to_string(),
        })
    }
}

/// Leaves out what may be secret: arguments, the values of variables and headers, and the address's query.
impl fmt::Debug for McpServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio {
                command, env, cwd, ..
            } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("env", &env.keys())
                .field("cwd", cwd)
                .finish_non_exhaustive(),
            Self::Http { url, headers, .. } => f
                .debug_struct("Http")
                .field("url", &url.split(['?', '#']).next().unwrap_or_default())
                .field("headers", &headers.keys())
                .finish_non_exhaustive(),
        }
    }
}
