//! A server as a child process.

use super::ending::Ending;
use super::environment::environment;
use super::transport::Lines;
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
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

/// How long a server may take to end by itself, first after its input was closed, then after it was asked to
/// (<https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#shutdown>).
const GRACE: Duration = Duration::from_secs(2);

/// The longest line of standard error that is kept whole.
const LINE: u64 = 4096;

/// Messages to and from a child process. When it is closed or dropped, the child is ended: by closing its input, else
/// by the signals TERM and KILL to its whole process group. No child outlives it for long, and none becomes a zombie.
pub(super) struct ChildTransport {
    inner: AsyncRwTransport<RoleClient, Lines<ChildStdout>, ChildStdin>,
    ending: watch::Receiver<Ending>,
    end: CancellationToken,
    _end_when_dropped: DropGuard,
}

/// What is started.
pub(super) struct Program<'a> {
    pub(super) server: &'a Arc<str>,
    pub(super) command: &'a str,
    pub(super) args: &'a [String],
    pub(super) env: &'a BTreeMap<String, String>,
    pub(super) cwd: Option<&'a Path>,
    /// The variables of the app's that it gets too.
    pub(super) passed_variables: &'a [String],
    pub(super) message_bytes: usize,
}

impl ChildTransport {
    pub(super) fn start(program: &Program<'_>) -> io::Result<Self> {
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
        let stdout = Lines::new(stdout, program.message_bytes, Arc::clone(&known));
        let server = Arc::clone(program.server);
        tracing::debug!(target: "stepwell", server = &*server, pid = child.id(), "MCP server started");
        let end = CancellationToken::new();
        tokio::spawn(keep(child, stderr, server, end.clone(), known));
        Ok(Self {
            // The bound is that of `Lines`: a message that is dropped would leave its call without an answer.
            inner: AsyncRwTransport::new(stdout, stdin).with_max_line_length(usize::MAX),
            ending,
            _end_when_dropped: end.clone().drop_guard(),
            end,
        })
    }

    /// Tells how the child comes to its end.
    pub(super) fn ending(&self) -> watch::Receiver<Ending> {
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
        // An error means that the keeper is gone, and the child with it.
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
    // Ctrl-C in a terminal is for the app. And what a launcher such as `npx` started ends with it.
    #[cfg(unix)]
    command.wrap(process_wrap::tokio::ProcessGroup::leader());
    command.spawn()
}

/// Waits for the child's end, brings it about when it is asked to, and leaves nothing of it behind.
async fn keep(
    mut child: Box<dyn ChildWrapper>,
    stderr: ChildStderr,
    server: Arc<str>,
    end: CancellationToken,
    known: Arc<watch::Sender<Ending>>,
) {
    let mut words = tokio::spawn(listen(stderr, Arc::clone(&server), Arc::clone(&known)));
    let ended = tokio::select! {
        status = child.wait() => Some(status),
        () = end.cancelled() => None,
    };
    let status = match ended {
        Some(status) => status,
        None => stop(&mut *child).await,
    };
    // Whatever else runs in its group would keep its pipes open.
    let _ = child.start_kill();
    if tokio::time::timeout(GRACE, &mut words).await.is_err() {
        words.abort();
    }
    tracing::debug!(target: "stepwell", server = &*server, ?status, "MCP server ended");
    let status = status.map_err(|error| error.to_string());
    known.send_modify(|ending| ending.status = Some(status));
}

async fn stop(child: &mut dyn ChildWrapper) -> io::Result<ExitStatus> {
    if let Ok(status) = tokio::time::timeout(GRACE, child.wait()).await {
        return status;
    }
    #[cfg(unix)]
    {
        const TERMINATE: i32 = 15;
        let _ = child.signal(TERMINATE);
        if let Ok(status) = tokio::time::timeout(GRACE, child.wait()).await {
            return status;
        }
    }
    child.start_kill()?;
    child.wait().await
}

/// Passes on what the server says to its developer.
async fn listen(stderr: ChildStderr, server: Arc<str>, known: Arc<watch::Sender<Ending>>) {
    let mut stderr = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut stderr).take(LINE).read_until(b'\n', &mut line).await {
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
