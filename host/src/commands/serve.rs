use super::chat::OwnModel;
use crate::failure::Failure;
use crate::mcp::Mcp;
use crate::serve::{AGENT_PATH, Backend, Limits, ServerTool, Settings, scripted, serve};
use crate::tools::{calculator, clock};
use clap::Args;
use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use stepwell_io::{HttpClient, http_client};
use stepwell_mock_llm::MockLlm;
use tokio::net::TcpListener;

/// Serves an AG-UI agent: runs are posted to /agent, and their events streamed.
///
/// Without --provider a scripted model answers, without key and network; a word of the question chooses what happens:
/// hello, think, app, both, list, change, everything, fail, refuse, wait, or anything else. With a provider the model
/// has a clock, a calculator, the state that it shares with the client, and the client's own tools; with either, those
/// that MCP servers have when the server starts.
///
/// Ctrl-C or SIGTERM stop it: runs under way may end first.
#[derive(Args, Debug)]
pub(crate) struct Serve {
    /// The address to listen on; port 0 is any free one.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8000")]
    listen: SocketAddr,
    #[command(flatten)]
    model: OwnModel,
    /// What the scripted model says, in the place of its own script: a file in the format of `mock-llm`.
    #[arg(long, value_name = "FILE", conflicts_with = "provider")]
    script: Option<PathBuf>,
    /// What the model is told before all else.
    #[arg(long, value_name = "TEXT")]
    instructions: Option<String>,
    /// The most rounds of tools in one run.
    #[arg(long, value_name = "N", default_value = "10")]
    max_tool_rounds: u32,
    // Their tools are asked for once, when the server starts.
    #[command(flatten)]
    mcp: Mcp,
    /// A tool of the server's that may only run when the person has allowed it; may be repeated.
    #[arg(long, value_name = "TOOL")]
    ask_before: Vec<String>,
    /// The token that requests must bear.
    #[arg(long, env = "STEPWELL_SERVE_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// A web origin that may use the server, such as http://localhost:3000, or `*` for any; may be repeated.
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// A name by which the server may be reached without a token, besides its addresses and localhost; may be repeated.
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// The longest request body, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 16 << 20)]
    max_body: usize,
    /// The most runs at once.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    max_runs: usize,
    /// How long a run may take, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    run_timeout: u64,
    /// How long a question to the person stands, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    interrupt_timeout: u64,
    /// How long a stream may be silent before a comment is sent, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "15", value_parser = clap::value_parser!(u64).range(1..))]
    keep_alive: u64,
    /// How long runs may go on once the server is told to stop, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    grace: u64,
}

impl Serve {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let settings = self.settings()?;
        let (_model, mut backend) = self
            .backend(http_client().map_err(Failure::failed)?)
            .await?;
        backend.instructions.clone_from(&self.instructions);
        backend.max_tool_rounds = self.max_tool_rounds;
        let servers = self.mcp.connect().await?;
        backend.tools.extend(ServerTool::of(&servers));
        ask_before(&mut backend, &self.ask_before)?;

        let listen = self.listen;
        let unusable = |error| Failure::failed(format!("{listen}: {error}"));
        let listener = TcpListener::bind(listen).await.map_err(unusable)?;
        let address = listener.local_addr().map_err(unusable)?;
        let mut out = io::stdout();
        writeln!(out, "AG-UI agent at http://{address}{AGENT_PATH}")?;
        if !address.ip().is_loopback() && self.token.is_none() {
            writeln!(
                io::stderr(),
                "stepwell: whoever reaches {address} may use the model: set STEPWELL_SERVE_TOKEN"
            )?;
        }
        out.flush()?;
        let signal = stop_signal()?;
        let served = serve(listener, backend, settings, signal).await;
        servers.close().await;
        Ok(served?)
    }

    fn settings(&self) -> Result<Settings, Failure> {
        if self
            .token
            .as_ref()
            .is_some_and(|token| token.trim().is_empty())
        {
            return Err(Failure::usage(
                "the token is empty: leave it out, or give one",
            ));
        }
        for origin in &self.allow_origin {
            let is_origin = origin == "*" || is_origin(origin);
            if !is_origin {
                return Err(Failure::usage(format!(
                    "`{origin}` is no web origin: write it as http://localhost:3000, without a path"
                )));
            }
        }
        Ok(Settings {
            limits: Limits {
                body: self.max_body,
                runs: self.max_runs,
                run_time: Duration::from_secs(self.run_timeout),
                interrupt_time: Duration::from_secs(self.interrupt_timeout),
                grace: Duration::from_secs(self.grace),
            },
            token: self.token.clone(),
            origins: self.allow_origin.clone(),
            hosts: self.allow_host.clone(),
            keep_alive: Duration::from_secs(self.keep_alive),
        })
    }

    /// What answers the runs, and the scripted model if it is that.
    async fn backend(&self, client: HttpClient) -> Result<(Option<MockLlm>, Backend), Failure> {
        if let Some(endpoint) = self.model.endpoint()? {
            let backend = Backend {
                endpoint,
                instructions: None,
                max_tool_rounds: self.max_tool_rounds,
                tools: vec![
                    ServerTool::new(clock::tool(), clock::run),
                    ServerTool::new(calculator::tool(), calculator::run),
                ],
                client,
            };
            return Ok((None, backend));
        }
        let script = self.script.as_ref().map(|path| {
            let unusable = |error| Failure::usage(format!("{}: {error}", path.display()));
            fs::read_to_string(path).map_err(unusable)
        });
        let script = script.transpose()?;
        let (model, backend) = scripted(script.as_deref(), client).await?;
        Ok((Some(model), backend))
    }
}

fn ask_before(backend: &mut Backend, names: &[String]) -> Result<(), Failure> {
    for name in names {
        let mut tools = backend.tools.iter_mut();
        match tools.find(|tool| tool.tool.name() == name) {
            Some(tool) => tool.tool.requires_approval = true,
            None => {
                let known = backend.tools.iter().map(|tool| tool.tool.name());
                let known = known.collect::<Vec<_>>().join(", ");
                return Err(Failure::usage(format!(
                    "the server has no tool `{name}`; it has: {known}"
                )));
            }
        }
    }
    Ok(())
}

/// Whether it is a scheme and an authority, and nothing more.
fn is_origin(text: &str) -> bool {
    let authority = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"));
    authority.is_some_and(|authority| {
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"/?#@*,".contains(&byte);
        !authority.is_empty() && authority.bytes().all(is_plain)
    })
}

/// Ctrl-C, or what a supervisor sends. Listened for from now on.
#[cfg(unix)]
fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Ctrl-C.
#[cfg(not(unix))]
fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    Ok(async {
        // Without it the program ends as soon as it is pressed.
        let _ = tokio::signal::ctrl_c().await;
    })
}
