use std::time::Duration;

/// Options for all servers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct McpOptions {
    /// The time limit for the handshake and the list of tools: 60 seconds. The first start of a server that its command
    /// has to download takes long.
    pub connect_timeout: Duration,
    /// The time limit of a call; the run's limit if absent.
    pub call_timeout: Option<Duration>,
    /// Variables of the app's environment that every server gets too: none. By default a server gets only what programs
    /// need to run (`PATH`, `HOME`, `LANG` and the like) and what its entry gives it
    /// ([`McpServerConfig::Stdio`](super::McpServerConfig::Stdio)), so no keys or passwords.
    pub passed_variables: Vec<String>,
    /// Which tools need the user's approval: none.
    pub approval: McpApproval,
    /// How many times in a row a lost server is started again without answering a call: 5 times. After that only calls
    /// start it, once each.
    pub max_restarts: u32,
    /// The pause before the second restart in a row, doubled for each further one: half a second. The first restart is
    /// at once, and no pause is longer than half a minute.
    pub restart_pause: Duration,
    /// Limits on what servers send.
    pub limits: McpLimits,
}

impl Default for McpOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(60),
            call_timeout: None,
            passed_variables: Vec::new(),
            approval: McpApproval::default(),
            max_restarts: 5,
            restart_pause: Duration::from_millis(500),
            limits: McpLimits::default(),
        }
    }
}

/// Which tools need the user's approval for each call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum McpApproval {
    /// No tool.
    #[default]
    Never,
    /// Tools that may destroy something, by their own hint `destructiveHint`. It is true for a tool without the hint,
    /// unless the tool only reads.
    Destructive,
    /// All tools. A server's hints about its tools are only hints.
    Always,
}

/// Limits on what a server sends. What exceeds them is left out, with a note in the trace or in the result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpLimits {
    /// The most tools of one server: 512.
    pub tools: usize,
    /// The most bytes of one tool's description and schema: 256 KiB.
    pub tool_bytes: usize,
    /// The most bytes of one message: 16 MiB. A longer message ends the connection: the server is taken to be broken.
    pub message_bytes: usize,
    /// The most bytes of one result, with media in base64: 8 MiB.
    pub result_bytes: usize,
    /// The most parts of one result: 256.
    pub result_parts: usize,
}

impl Default for McpLimits {
    fn default() -> Self {
        Self {
            tools: 512,
            tool_bytes: 256 << 10,
            message_bytes: 16 << 20,
            result_bytes: 8 << 20,
            result_parts: 256,
        }
    }
}
