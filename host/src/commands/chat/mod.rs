mod agent_asks;
mod agents;
mod asking;
mod beside;
mod commands;
mod saved;
mod session;
mod talk;

use crate::markdown::Markdown;
use crate::mcp::Mcp;
use crate::prompt::Prompt;
use crate::settings::{
    LimitFlags, ModelFlags, SESSIONS, Settings, Sources, StoreFlags, ToolFlags, flags,
};
use crate::store::MEMORY;
use agents::Agents;
use clap::Args;
use session::Session;
use stepwell_core::dialect::{Endpoint, Secret};
use stepwell_core::provider::EndpointError;
use stepwell_demo::terminal::{Screen, Shown};
use stepwell_demo::{Failure, Format};
use talk::Talk;
use tokio::sync::mpsc;

/// Talks with a model that has a clock and a calculator; without a provider, with a scripted one.
///
/// Each line is a question, or a command that begins with a slash: /help lists them. Ctrl-C cancels an answer, a second
/// one leaves, as Ctrl-D does. A tool that asks before it runs is answered with `yes`, with `no` and a reason, or with
/// `edit` and other arguments.
///
/// With its input from a pipe it answers line by line, without commands, and a tool that asks is answered by the next
/// line. It goes on after an answer that fails, which is said on standard error, and ends with code 1 then.
#[derive(Args, Debug)]
pub(crate) struct Chat {
    #[command(flatten)]
    model: ModelFlags,
    #[command(flatten)]
    limits: LimitFlags,
    #[command(flatten)]
    tools: ToolFlags,
    #[command(flatten)]
    mcp: Mcp,
    #[command(flatten)]
    store: StoreFlags,
    /// Goes on with a session of the store, the one of this id, or the last one, and with a turn of it that was under
    /// way.
    #[arg(long, value_name = "SESSION", num_args = 0..=1, default_missing_value = "", help_heading = SESSIONS)]
    resume: Option<String>,
}

impl Chat {
    pub(crate) async fn run(self, sources: &Sources) -> Result<(), Failure> {
        let own = [
            flags(&self.model)?,
            flags(&self.limits)?,
            flags(&self.tools)?,
            flags(&self.mcp)?,
            flags(&self.store)?,
        ];
        let in_force = sources.with(&own)?;
        let address = in_force.settings.store.clone();
        if self.resume.is_some() && address.is_none() {
            return Err(Failure::usage(
                "there is nothing to resume without a store: name it with --store, such as sqlite:chat.db",
            ));
        }
        set_endpoint(&in_force.settings)?;
        let servers = Mcp::of(&in_force.settings).connect().await?;
        let (ask, asked) = mpsc::unbounded_channel();
        let is_watched = Prompt::is_watched();
        let agents = Agents::new(in_force, servers.clone(), ask, is_watched).await?;
        let store = crate::store::open(address.as_deref().unwrap_or(MEMORY)).await?;
        let session = match &self.resume {
            Some(id) => Session::resumed(store.store(), id).await?,
            None => Session::new(store.store()),
        };
        let mut talk = Talk {
            agent: agents.agent(&session.store, &session.thread)?,
            agents,
            session,
            store: address.as_deref().map(crate::store::name),
            news: servers.events(),
            asked,
            prompt: Prompt::start(commands::words())?,
            shown: Shown::new(Screen::new(Some(Box::new(Markdown::new())))),
            initial: String::new(),
            is_leaving: false,
            has_failed: false,
        };
        let ended = talk.run().await;
        // Who leaves does not wait for the servers, which end with the program.
        if !matches!(ended, Err(Failure::Left)) {
            servers.close().await;
        }
        store.close().await;
        ended
    }
}

/// Where the questions go by the settings; `None` if no provider is named.
pub(in crate::commands) fn set_endpoint(settings: &Settings) -> Result<Option<Endpoint>, Failure> {
    let Some(provider) = settings.provider.clone() else {
        return Ok(None);
    };
    let api = settings.api.clone();
    let model = settings.model.as_deref().unwrap_or_default();
    endpoint(
        &Format { provider, api },
        model,
        settings.base_url.as_deref(),
    )
    .map(Some)
}

/// Where the questions go; the key comes from the environment.
fn endpoint(format: &Format, model: &str, base_url: Option<&str>) -> Result<Endpoint, Failure> {
    let (provider, api) = format.find()?;
    let key = std::env::var(&*provider.key_variable);
    provider
        .endpoint(Some(&api.name), model, base_url, key.ok().map(Secret::from))
        .map_err(|error| match error {
            EndpointError::NoKey { provider, variable } => Failure::Usage(format!(
                "{provider} needs an API key: set the environment variable {variable} to yours"
            )),
            EndpointError::NoModel { provider } => {
                Failure::Usage(format!("{provider} has many models: name one with --model"))
            }
            EndpointError::NoBaseUrl { provider, example } => Failure::Usage(format!(
                "{provider} has no address of its own: give one with --base-url, such as {example}"
            )),
            other => Failure::usage(other),
        })
}
