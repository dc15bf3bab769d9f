mod access;
mod backend;
mod engine;
mod serving;

use super::stop_signal::stop_signal;
use crate::serve::{AGENT_PATH, Backend, ServerTool, SessionStore, serve};
use crate::settings::{
    CompactionSettings, EngineSettings, LimitSettings, ModelSettings, Record, ServerSettings,
    Sources, StoreSettings, ToolSettings,
};
use crate::setup::store::{self, MEMORY};
use crate::setup::{Compaction, mcp};
use clap::Args;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use stepwell_core::run::RunConfig;
use stepwell_demo::Failure;
use stepwell_io::HttpClient;
use stepwell_mock_llm::MockLlm;
use tokio::net::TcpListener;

/// Serves an AG-UI agent: runs are posted to /agent, and their events streamed. The web page is at /.
///
/// Without --provider a scripted model answers, without key and network; a word of the question chooses what happens:
/// hello, think, app, both, list, change, everything, slow, missing, table, fail, refuse, wait, or anything else. With a
/// provider the model has a clock, a calculator, the state that it shares with the client, and the client's own tools;
/// with either, those that MCP servers have when the server starts.
///
/// Ctrl-C or SIGTERM stop the server once the current runs have ended. A second Ctrl-C ends it at once.
#[derive(Args, Debug)]
pub(crate) struct Serve {
    #[command(flatten)]
    model: ModelSettings,
    #[command(flatten)]
    compaction: CompactionSettings,
    #[command(flatten)]
    limits: LimitSettings,
    #[command(flatten)]
    tools: ToolSettings,
    /// What the scripted model says, instead of its own script: a file in the format of `mock-llm`.
    #[arg(long, value_name = "FILE", conflicts_with = "provider")]
    script: Option<PathBuf>,
    #[command(flatten)]
    store: StoreSettings,
    #[command(flatten)]
    engine: EngineSettings,
    #[command(flatten)]
    serve: ServerSettings,
}

impl Serve {
    pub(crate) async fn run(self, sources: &Sources) -> Result<(), Failure> {
        let client = HttpClient::new().map_err(Failure::failed)?;
        let access = access::access(&self.serve, &client).await?;
        access::check_listen(&self.serve, &access)?;
        let is_guarded = access.is_guarded();
        let address = self.store.store.as_deref().unwrap_or(MEMORY);
        // Before anything is opened.
        let engine = engine::engine(&self.engine, address, self.serve.insecure)?;
        let store = store::open(address).await?;
        let sessions = SessionStore {
            store: store.store(),
            label: self.store.owner.clone(),
            is_durable: address != MEMORY,
        };
        let (model, mut backend) = self.backend(sources, client).await?;
        let of_turns = model.is_none().then_some(&self.model);
        backend.compaction = Compaction::new(&self.compaction, of_turns)?;
        let default_record = match model {
            // The scripted model says nothing that needs hiding.
            Some(_) => Record::Full,
            None => Record::Off,
        };
        let serving = serving::serving(&self.serve, engine, sessions, access, default_record)?;
        self.configure(&mut backend)?;
        // The servers are asked for their tools once.
        let servers = mcp::connect(&self.tools).await?;
        backend.tools.extend(ServerTool::of(&servers));
        backend::ask_before(&mut backend, &self.tools.ask_before)?;
        let listener = self.listen().await?;
        // Before the first line: a reader of that line may stop the server.
        let signal = stop_signal()?;
        announce(listener.local_addr()?, is_guarded)?;
        let served = serve(listener, backend, serving, signal).await;
        servers.close().await;
        store.close().await;
        Ok(served?)
    }

    /// Returns what answers the runs, and the scripted model if that does.
    async fn backend(
        &self,
        sources: &Sources,
        client: HttpClient,
    ) -> Result<(Option<MockLlm>, Backend), Failure> {
        if self.script.is_none()
            && let Some(backend) = backend::of_provider(&self.model, &self.serve.offer, &client)?
        {
            return Ok((None, backend));
        }
        let (model, backend) = backend::of_script(self.script.as_deref(), sources, client).await?;
        Ok((Some(model), backend))
    }

    /// Sets the instructions and the limits of all turns.
    fn configure(&self, backend: &mut Backend) -> Result<(), Failure> {
        backend.instructions.clone_from(&self.model.instructions);
        self.limits.apply(&mut backend.limits);
        let mut config = RunConfig::new(backend.endpoint.clone());
        config.limits = backend.limits;
        let others = backend.fallback.iter().cloned();
        config.fallback.models = others.map(Into::into).collect();
        config.check_fallback().map_err(Failure::usage)?;
        let others = backend.fallback.iter().chain(&backend.offered);
        backend.compaction.check(&backend.endpoint, others)?;
        config.check_price().map_err(Failure::usage)
    }

    async fn listen(&self) -> Result<TcpListener, Failure> {
        let listen = self.serve.listen;
        let listener = TcpListener::bind(listen).await;
        listener.map_err(|error| Failure::failed(format!("{listen}: {error}")))
    }
}

/// Prints where the server is, in one write: a program that starts it may read no more than the first line.
fn announce(address: SocketAddr, is_guarded: bool) -> io::Result<()> {
    let mut out = io::stdout();
    let addresses =
        format!("AG-UI agent at http://{address}{AGENT_PATH}\nweb page at http://{address}/\n");
    out.write_all(addresses.as_bytes())?;
    if !address.ip().is_loopback() && !is_guarded {
        writeln!(
            io::stderr(),
            "stepwell: any client that reaches {address} may use the model: set STEPWELL_SERVE_TOKEN"
        )?;
    }
    out.flush()
}
