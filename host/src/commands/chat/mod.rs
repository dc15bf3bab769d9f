mod asking;
mod beside;
mod session;

use crate::mcp::Mcp;
use crate::prompt::{Line, Prompt};
use crate::settings::{
    LimitFlags, ModelFlags, Origin, SESSIONS, Settings, Sources, StoreFlags, ToolFlags, flags,
};
use crate::tools::{calculator, clock};
use asking::{AskBefore, Asked, approver};
use beside::BesideChat;
use clap::Args;
use session::Session;
use std::sync::Arc;
use std::time::Instant;
use stepwell_core::dialect::{Endpoint, Secret};
use stepwell_core::provider::EndpointError;
use stepwell_demo::Format;
use stepwell_demo::terminal::{self, Shown, Summary};
use stepwell_demo::{Failure, follow_with, problem};
use stepwell_io::mcp::McpServers;
use stepwell_io::{Agent, TextOptions, Tool, ToolSource};

/// Talks with a model that has a clock and a calculator.
///
/// Each line is a question; Ctrl-C stops an answer, Ctrl-D ends. With its input from a pipe it answers line by line,
/// and stops at the first answer that fails. A tool that asks before it runs is answered with `yes`, with `no` and a
/// reason, or with `edit` and other arguments: in a pipe by the next line.
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
        let is_flag = matches!(in_force.origin("ask_before"), Origin::Flag(_));
        let settings = in_force.settings;
        let endpoint = set_endpoint(&settings)?.ok_or_else(|| {
            Failure::usage(
                "a chat needs a model: name its provider with --provider, such as ollama",
            )
        })?;
        let servers = Mcp::of(&settings).connect().await?;
        let names = &settings.ask_before;
        let asks = |mut tool: Tool| {
            tool.requires_approval = names.iter().any(|name| name == tool.name());
            tool
        };
        let own = [clock::tool(), calculator::tool()].map(asks);
        if is_flag {
            known(names, &own, &servers)?;
        }
        let [clock, calculator] = own;
        let (approver, mut asked) = approver();
        let mut agent = Agent::builder(endpoint)
            .tool_source(AskBefore::new(servers.clone(), names.clone()))
            .tool(clock, clock::run)
            .tool(calculator, calculator::run)
            .approver(approver)
            .configure(|config| {
                settings.limit(&mut config.limits);
                // Each call is shown on a line of its own.
                config.text = TextOptions::AS_WRITTEN;
            });
        if let Some(instructions) = settings.instructions {
            agent = agent.instructions(instructions);
        }
        let mut session = None;
        if let Some(address) = &settings.store {
            let kept = Session::open(address, self.resume.as_deref()).await?;
            let store = Arc::clone(&kept.store);
            agent = agent.store(store).thread_id(kept.thread.clone());
            session = Some(kept);
        } else if self.resume.is_some() {
            return Err(Failure::usage(
                "there is nothing to resume without a store: name it with --store, such as sqlite:chat.db",
            ));
        }
        let agent = agent.build().map_err(Failure::usage)?;
        let ended = talk(&agent, &servers, &mut asked, session.as_ref()).await;
        servers.close().await;
        ended
    }
}

/// Checks that there are tools of these names.
fn known(names: &[String], own: &[Tool], servers: &McpServers) -> Result<(), Failure> {
    let of_servers = servers.tools();
    let tools = own
        .iter()
        .chain(of_servers.iter().map(|sourced| &sourced.tool));
    let tools: Vec<_> = tools.map(Tool::name).collect();
    match names.iter().find(|name| !tools.contains(&name.as_str())) {
        Some(unknown) => Err(Failure::usage(format!(
            "there is no tool `{unknown}` to ask before; there are: {}",
            tools.join(", ")
        ))),
        None => Ok(()),
    }
}

async fn talk(
    agent: &Agent,
    servers: &McpServers,
    asked: &mut Asked,
    session: Option<&Session>,
) -> Result<(), Failure> {
    let mut news = servers.events();
    let mut prompt = Prompt::start()?;
    let mut shown = Shown::new(terminal::screen());
    if let Some(session) = session {
        session.show(&mut shown)?;
        if prompt.is_interactive() {
            shown.remark(&format!("session {}", session.thread))?;
        }
    }
    let mut next = match session {
        Some(session) => session.go_on(agent).await?,
        None => None,
    };
    loop {
        let turn = match next.take() {
            Some(turn) => turn,
            None => match prompt.next().await {
                Line::Text(text) if text.trim().is_empty() => continue,
                Line::Text(text) => agent.send(text),
                Line::Interrupted => continue,
                Line::End => return Ok(()),
                Line::Failed(reason) => {
                    return Err(Failure::failed(format!("standard input: {reason}")));
                }
            },
        };
        let begin = Instant::now();
        let mut beside = BesideChat {
            news: &mut news,
            asked: &mut *asked,
            prompt: &mut prompt,
        };
        let finished = follow_with(turn, &mut shown, &mut beside).await?;
        match problem(&finished.outcome) {
            Some(problem) if !prompt.is_interactive() => return Err(Failure::Failed(problem)),
            Some(problem) => shown.problem(&problem)?,
            None => {}
        }
        if prompt.is_interactive() {
            shown.summary(&Summary {
                hops: finished.hops,
                usage: &finished.usage,
                time: begin.elapsed(),
            })?;
        }
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
