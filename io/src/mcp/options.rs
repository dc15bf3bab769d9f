use std::time::Duration;

/// How servers are dealt with.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct McpOptions {
    /// How long a server may take until it has answered the handshake and told its tools: 60 seconds. The first start
    /// of a server that its command has yet to download takes long.
    pub connect_timeout: Duration,
    /// The longest that a call may take; the run's own limit if absent.
    pub call_timeout: Option<Duration>,
    /// Variables of the app's environment that every server gets as well: none. By itself a server gets only what
    /// programs need to run (`PATH`, `HOME`, `LANG` and the like) and what its own entry gives it
    /// ([`McpServerConfig::Stdio`](super::McpServerConfig::Stdio)), so no keys or passwords.
    pub passed_variables: Vec<String>,
    /// Which tools the user must allow: none.
    pub approval: McpApproval,
    /// How often in a row a lost server is started again without that it answers a call: 5 times. After that only
    /// calls start it, once each.
    pub max_restarts: u32,
    /// The pause before the second restart in a row, doubled for each further one: half a second. The first is at
    /// once, and none waits longer than half a minute.
    pub restart_pause: Duration,
    /// What a server may give.
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

/// Which tools the user must allow, each call of theirs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum McpApproval {
    /// None.
    #[default]
    Never,
    /// Those that may destroy something, by their own account: `destructiveHint`, which a tool has that says nothing,
    /// unless it only reads.
    Destructive,
    /// All. What a server says of its tools is no more than a hint.
    Always,
}

/// How much a server may give. What is beyond is left out, and said so in the trace, or in the result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpLimits {
    /// The most tools of one server: 512.
    pub tools: usize,
    /// The most bytes of one tool's description and schema: 256 KiB.
    pub tool_bytes: usize,
    /// The most bytes of one message: 16 MiB. A server with a longer one is taken for broken: its connection ends.
    pub message_bytes: usize,
    /// The most bytes of one result, media in base64 with it: 8 MiB.
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
