//! A server as a child process.

use super::ending::Ending;
use super::environment::environment;
use super::lines::{Lines, lines};
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{ChildStderr, ChildStdin, Command};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

/// The time that a server has to end by itself, first after its input was closed, then after the signal TERM
/// (<https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#shutdown>).
const GRACE_PERIOD: Duration = Duration::from_secs(2);

/// The most bytes of a line of standard error that are kept together.
const MAX_STDERR_LINE_BYTES: u64 = 4096;

/// Messages to and from a child process. When the transport is closed or dropped, the child is ended: by closing its
/// input, else by the signals TERM and KILL to its process group. No child outlives the transport for long, and none
/// becomes a zombie.
pub(in crate::mcp) struct ChildTransport {
    inner: AsyncRwTransport<RoleClient, Lines, ChildStdin>,
    ending: watch::Receiver<Ending>,
    end: CancellationToken,
    _end_when_dropped: DropGuard,
}

/// The program of a server.
pub(in crate::mcp) struct Program<'a> {
    pub(in crate::mcp) server: &'a Arc<str>,
    pub(in crate::mcp) command: &'a str,
    pub(in crate::mcp) args: &'a [String],
    pub(in crate::mcp) env: &'a BTreeMap<String, String>,
    pub(in crate::mcp) cwd: Option<&'a Path>,
    /// The variables of the app that the program gets too.
    pub(in crate::mcp) passed_variables: &'a [String],
    pub(in crate::mcp) message_bytes: usize,
}

impl ChildTransport {
    pub(in crate::mcp) fn start(program: &Program<'_>) -> io::Result<Self> {
        let mut child = spawn(program)?;
        let pipes = (
            child.stdin().take(),
            child.stdout().take(),
            child.stderr().take(),
        );
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::Error::other("the child has no pipes"));
        };
        let (known, ending) = watch::channel(Ending::default());
        let known = Arc::new(known);
        let stdout = lines(stdout, program.message_bytes, Arc::clone(&known));
        let server = Arc::clone(program.server);
        tracing::debug!(target: "stepwell", server = &*server, pid = child.id(), "MCP server started");
        let end = CancellationToken::new();
        tokio::spawn(supervise(child, stderr, server, end.clone(), known));
        Ok(Self {
            // `lines` has the bound: a message that the SDK drops would leave its call without an answer.
            inner: AsyncRwTransport::new(stdout, stdin).with_max_line_length(usize::MAX),
            ending,
            _end_when_dropped: end.clone().drop_guard(),
            end,
        })
    }

    /// Watches the child's end.
    pub(in crate::mcp) fn ending(&self) -> watch::Receiver<Ending> {
        self.ending.clone()
    }
}

impl Transport<RoleClient> for ChildTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.inner.receive().await
    }

    async fn close(&mut self) -> io::Result<()> {
        let closed = self.inner.close().await;
        self.end.cancel();
        // An error means that the child's task is gone, and the child with it.
        let _ = self.ending.wait_for(|ending| ending.status.is_some()).await;
        closed
    }
}

fn spawn(program: &Program<'_>) -> io::Result<Box<dyn ChildWrapper>> {
    let environment = environment(program.env, program.passed_variables);
    let environment = environment.map_err(io::Error::other)?;
    let mut command = CommandWrap::with_new(program.command, |command: &mut Command| {
        command
            .args(program.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.env_clear().envs(environment);
        if let Some(folder) = program.cwd {
            command.current_dir(folder);
        }
    });
    command.wrap(KillOnDrop);
    // Ctrl-C in a terminal is for the app alone. And the processes that a launcher such as `npx` started end with it.
    #[cfg(unix)]
    command.wrap(process_wrap::tokio::ProcessGroup::leader());
    command.spawn()
}

/// Waits until the child ends, or ends it when it is asked to, with all processes of its group.
async fn supervise(
    mut child: Box<dyn ChildWrapper>,
    stderr: ChildStderr,
    server: Arc<str>,
    end: CancellationToken,
    known: Arc<watch::Sender<Ending>>,
) {
    let mut words = tokio::spawn(trace_stderr(
        stderr,
        Arc::clone(&server),
        Arc::clone(&known),
    ));
    let ended = tokio::select! {
        status = child.wait() => Some(status),
        () = end.cancelled() => None,
    };
    let status = match ended {
        Some(status) => status,
        None => stop(&mut *child).await,
    };
    // Other processes of its group would keep its pipes open.
    let _ = child.start_kill();
    if tokio::time::timeout(GRACE_PERIOD, &mut words)
        .await
        .is_err()
    {
        words.abort();
    }
    tracing::debug!(target: "stepwell", server = &*server, ?status, "MCP server ended");
    let status = status.map_err(|error| error.to_string());
    known.send_modify(|ending| ending.status = Some(status));
}

async fn stop(child: &mut dyn ChildWrapper) -> io::Result<ExitStatus> {
    if let Ok(status) = tokio::time::timeout(GRACE_PERIOD, child.wait()).await {
        return status;
    }
    #[cfg(unix)]
    {
        const TERMINATE: i32 = 15;
        let _ = child.signal(TERMINATE);
        if let Ok(status) = tokio::time::timeout(GRACE_PERIOD, child.wait()).await {
            return status;
        }
    }
    child.start_kill()?;
    child.wait().await
}

/// Writes the child's standard error to the trace.
async fn trace_stderr(stderr: ChildStderr, server: Arc<str>, known: Arc<watch::Sender<Ending>>) {
    let mut stderr = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut stderr)
            .take(MAX_STDERR_LINE_BYTES)
            .read_until(b'\n', &mut line)
            .await
        {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(line.trim_ascii_end());
        if text.is_empty() {
            continue;
        }
        tracing::debug!(target: "stepwell", server = &*server, "{text}");
        known.send_modify(|ending| ending.last_words = text.into_owned());
    }
}
