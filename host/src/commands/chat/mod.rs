mod agent_asks;
mod agents;
mod ask_before;
mod asking;
mod beside;
mod commands;
mod markdown;
mod prompt;
mod saved;
mod session;
mod talk;

use crate::settings::{
    CompactionSettings, LimitSettings, ModelSettings, SESSIONS, Sources, StoreSettings,
    ToolSettings,
};
use crate::setup::store::{self, MEMORY};
use crate::setup::{endpoint, mcp};
use agents::{AgentSettings, Agents};
use clap::Args;
use markdown::Markdown;
use prompt::Prompt;
use session::Session;
use stepwell_demo::Failure;
use stepwell_demo::terminal::{Screen, Shown};
use talk::Talk;
use tokio::sync::mpsc;

/// Talks with a model that has a clock and a calculator; without a provider, with a scripted one.
///
/// Each line is a question, or a command that begins with a slash: /help lists them. Ctrl-C cancels an answer, a second
/// one leaves, as Ctrl-D does. A tool that asks before it runs is answered with `yes`, with `no` and a reason, or with
/// `edit` and other arguments.
///
/// In a pipe it answers line by line, without commands, and the next line answers a tool that asks. It continues after an
/// answer that fails, which it reports on standard error; the exit code is 1 then.
#[derive(Args, Debug)]
pub(crate) struct Chat {
    #[command(flatten)]
    model: ModelSettings,
    #[command(flatten)]
    compaction: CompactionSettings,
    #[command(flatten)]
    limits: LimitSettings,
    #[command(flatten)]
    tools: ToolSettings,
    #[command(flatten)]
    store: StoreSettings,
    /// Continues the session of the store with this id, or the last one, and its unfinished turn.
    #[arg(long, value_name = "SESSION", num_args = 0..=1, default_missing_value = "", help_heading = SESSIONS)]
    resume: Option<String>,
}

impl Chat {
    pub(crate) async fn run(self, sources: &Sources) -> Result<(), Failure> {
        let address = self.store.store.as_deref();
        if self.resume.is_some() && address.is_none() {
            return Err(Failure::usage(
                "there is nothing to resume without a store: name it with --store, such as sqlite:chat.db",
            ));
        }
        endpoint(&self.model)?;
        let servers = mcp::connect(&self.tools).await?;
        let (ask, asked) = mpsc::unbounded_channel();
        let is_watched = Prompt::is_watched();
        let agents = Agents::new(
            AgentSettings {
                model: self.model.clone(),
                compaction: self.compaction.clone(),
                limits: self.limits.clone(),
                ask_before: self.tools.ask_before.clone(),
            },
            sources,
            servers.clone(),
            ask,
            is_watched,
        )
        .await?;
        let store = store::open(address.unwrap_or(MEMORY)).await?;
        let session = match &self.resume {
            Some(id) => Session::resumed(store.store(), id).await?,
            None => Session::new(store.store()),
        };
        let mut talk = Talk {
            agent: agents.agent(&session.store)?,
            agents,
            session,
            store: address.map(store::name),
            news: servers.events(),
            asked,
            prompt: Prompt::start(commands::words())?,
            shown: Shown::new(Screen::new(Some(Box::new(Markdown::new())))),
            initial: String::new(),
            is_leaving: false,
            has_failed: false,
        };
        let ended = talk.run().await;
        // A user who leaves does not wait for the servers, which end with the program.
        if !matches!(ended, Err(Failure::Left)) {
            servers.close().await;
        }
        store.close().await;
        ended
    }
}
