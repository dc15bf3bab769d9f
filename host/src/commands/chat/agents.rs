//! The agents of a chat: with the model that the settings name, or the scripted one.

use super::ask_before::AskBefore;
use super::asking::{Ask, answerer, approver};
use crate::logging::traces_content;
use crate::serve::{Backend, ServerTool, scripted, scripted_slowly};
use crate::settings::{CompactionSettings, LimitSettings, ModelSettings, Origin, Sources};
use crate::setup::{Compaction, endpoint, fallback};
use crate::tools::{calculator, clock};
use std::sync::Arc;
use std::time::Duration;
use stepwell_demo::{Failure, catalog};
use stepwell_io::config::{Endpoint, TextOptions};
use stepwell_io::mcp::McpServers;
use stepwell_io::store::Store;
use stepwell_io::tool::ToolSource;
use stepwell_io::{Agent, HttpClient};
use stepwell_mock_llm::MockLlm;

/// The delay between two deltas of the scripted model for a user who watches.
const DELTA_DELAY: Duration = Duration::from_millis(25);

/// The settings of a chat's agents.
pub(super) struct AgentSettings {
    pub(super) model: ModelSettings,
    pub(super) compaction: CompactionSettings,
    pub(super) limits: LimitSettings,
    /// The tools that need the user's approval.
    pub(super) ask_before: Vec<String>,
}

/// Builds the agents of a chat: one for each session, and new ones when the model changes.
pub(super) struct Agents {
    settings: AgentSettings,
    /// The scripted model, if no provider is set.
    scripted: Option<(MockLlm, Backend)>,
    servers: McpServers,
    ask: Ask,
}

impl Agents {
    /// Checks the settings, and starts the scripted model if it answers; slowly for a user who watches.
    pub(super) async fn new(
        settings: AgentSettings,
        sources: &Sources,
        servers: McpServers,
        ask: Ask,
        is_watched: bool,
    ) -> Result<Self, Failure> {
        let mut scripted_model = None;
        fallback(&settings.model)?;
        if endpoint(&settings.model)?.is_none() {
            let of_provider = ["api", "base_url", "model", "fallback", "summary_model"];
            sources.refuse_provider_flags(&of_provider)?;
            let client = HttpClient::new().map_err(Failure::failed)?;
            scripted_model = Some(if is_watched {
                scripted_slowly(DELTA_DELAY, client).await?
            } else {
                scripted(None, client).await?
            });
        }
        let agents = Self {
            settings,
            scripted: scripted_model,
            servers,
            ask,
        };
        agents.check_compaction()?;
        if matches!(sources.origin("ask_before"), Origin::Flag(_)) {
            agents.check_ask_before()?;
        }
        Ok(agents)
    }

    pub(super) fn is_scripted(&self) -> bool {
        self.scripted.is_some()
    }

    /// Returns the name of the model for the user.
    pub(super) fn name(&self) -> String {
        if self.is_scripted() {
            return "scripted model".to_owned();
        }
        let ModelSettings {
            provider, model, ..
        } = &self.settings.model;
        let names = provider.iter().chain(model).map(String::as_str);
        names.collect::<Vec<_>>().join(" · ")
    }

    /// Changes the model: to one of the same provider, or of the provider that is named before it.
    pub(super) fn change(&mut self, words: &[&str]) -> Result<(), Failure> {
        let mut settings = self.settings.model.clone();
        match words {
            [model] if !self.is_scripted() => settings.model = Some((*model).to_owned()),
            [provider, model] => {
                if settings.provider.as_deref() != Some(*provider) {
                    (settings.api, settings.base_url) = (None, None);
                }
                settings.provider = Some((*provider).to_owned());
                settings.model = Some((*model).to_owned());
            }
            _ => {
                return Err(Failure::usage(
                    "`/model MODEL` is another one of the same provider, `/model PROVIDER MODEL` one of another; \
                     `stepwell providers` lists them",
                ));
            }
        }
        endpoint(&settings)?;
        fallback(&settings)?;
        self.settings.model = settings;
        self.scripted = None;
        Ok(())
    }

    /// Builds an agent for a session.
    pub(super) fn agent(&self, store: &Arc<dyn Store>) -> Result<Agent, Failure> {
        let settings = &self.settings;
        let (endpoint, others) = self.models()?;
        let compaction = self.compaction()?;
        let names = settings.ask_before.clone();
        let mut agent = Agent::builder(endpoint)
            .fallback(others)
            .tool_source(AskBefore::new(self.servers.clone(), names))
            .approver(approver(self.ask.clone()))
            .answerer(answerer(self.ask.clone()))
            .store(store.clone())
            .trace_content(traces_content())
            .configure(|config| {
                settings.limits.apply(&mut config.limits);
                compaction.apply(config);
                // Each call is shown on a line of its own.
                config.text = TextOptions::AS_WRITTEN;
            });
        for tool in self.own_tools() {
            let mut definition = tool.tool.clone();
            let asks = settings
                .ask_before
                .iter()
                .any(|name| name == definition.name());
            definition.requires_approval |= asks;
            agent = agent.tool_handler(definition, tool);
        }
        if let Some(instructions) = &settings.model.instructions {
            agent = agent.instructions(instructions);
        }
        agent.build().map_err(Failure::usage)
    }

    /// Returns the model that answers, and those that are asked when it has failed.
    fn models(&self) -> Result<(Endpoint, Vec<Endpoint>), Failure> {
        let model = &self.settings.model;
        if let Some((_, backend)) = &self.scripted {
            return Ok((backend.endpoint.clone(), Vec::new()));
        }
        let endpoint = endpoint(model)?.ok_or_else(|| Failure::usage("no provider is set"))?;
        Ok((endpoint, fallback(model)?))
    }

    fn compaction(&self) -> Result<Compaction, Failure> {
        let AgentSettings {
            model, compaction, ..
        } = &self.settings;
        Compaction::new(compaction, (!self.is_scripted()).then_some(model))
    }

    /// Checks that the models' conversations can be compacted, if the settings ask for it.
    pub(super) fn check_compaction(&self) -> Result<(), Failure> {
        let (asked, others) = self.models()?;
        self.compaction()?.check(&asked, &others)
    }

    fn own_tools(&self) -> Vec<ServerTool> {
        let mut tools = vec![
            ServerTool::new(clock::tool(), clock::run),
            ServerTool::new(calculator::tool(), calculator::run),
        ];
        if let Some((_, backend)) = &self.scripted {
            tools.extend(backend.tools.iter().cloned());
        }
        tools
    }

    /// Checks that the tools that need approval exist.
    fn check_ask_before(&self) -> Result<(), Failure> {
        let of_servers = self.servers.tools();
        let own = self.own_tools();
        let own = own.iter().map(|tool| tool.tool.name());
        let of_servers = of_servers.iter().map(|sourced| sourced.tool.name());
        let tools: Vec<_> = own.chain(of_servers).collect();
        let mut names = self.settings.ask_before.iter();
        match names.find(|name| !tools.contains(&name.as_str())) {
            Some(unknown) => Err(Failure::usage(format!(
                "there is no tool `{unknown}` to ask before; there are: {}",
                tools.join(", ")
            ))),
            None => Ok(()),
        }
    }
}

/// Explains how to name a provider.
pub(super) fn provider_advice() -> String {
    let mut providers = catalog().all();
    let with_key = providers.find(|provider| {
        provider.needs_key
            && std::env::var_os(&*provider.key_variable).is_some_and(|key| !key.is_empty())
    });
    match with_key {
        Some(provider) => format!(
            "no provider is set, so a scripted model answers; {} is set: stepwell chat --provider {} --model MODEL",
            provider.key_variable, provider.name
        ),
        None => "no provider is set, so a scripted model answers; for a real one: \
             export ANTHROPIC_API_KEY=… and stepwell chat --provider anthropic --model MODEL, or another of \
             `stepwell providers`"
            .to_owned(),
    }
}
