//! What answers the runs: the model that the settings name, or the scripted one.

use crate::serve::{Backend, ServerTool, scripted};
use crate::settings::{ModelSettings, Sources};
use crate::setup::{Compaction, endpoint, fallback, named};
use crate::tools::{calculator, clock};
use std::fs;
use std::path::Path;
use stepwell_core::run::Limits;
use stepwell_demo::Failure;
use stepwell_io::HttpClient;
use stepwell_mock_llm::MockLlm;

/// Returns the backend of the model that the settings name; `None` if they name no provider.
pub(super) fn of_provider(
    settings: &ModelSettings,
    offer: &[String],
    client: &HttpClient,
) -> Result<Option<Backend>, Failure> {
    let Some(endpoint) = endpoint(settings)? else {
        return Ok(None);
    };
    let calculator =
        calculator::tool().label(|arguments| Some(arguments["expression"].as_str()?.to_owned()));
    Ok(Some(Backend {
        endpoint,
        offered: named(settings, offer)?,
        fallback: fallback(settings)?,
        compaction: Compaction::default(),
        instructions: None,
        limits: Limits::default(),
        tools: vec![
            ServerTool::new(clock::tool(), clock::run),
            ServerTool::new(calculator, calculator::run),
        ],
        client: client.clone(),
    }))
}

/// Returns the scripted model and its backend.
pub(super) async fn of_script(
    script: Option<&Path>,
    sources: &Sources,
    client: HttpClient,
) -> Result<(MockLlm, Backend), Failure> {
    let of_provider = [
        "api",
        "base_url",
        "model",
        "offer",
        "fallback",
        "summary_model",
    ];
    sources.refuse_provider_flags(&of_provider)?;
    let script = script.map(|path| {
        let unusable = |error| Failure::usage(format!("{}: {error}", path.display()));
        fs::read_to_string(path).map_err(unusable)
    });
    scripted(script.transpose()?.as_deref(), client).await
}

/// Marks the tools that need the user's approval.
pub(super) fn ask_before(backend: &mut Backend, names: &[String]) -> Result<(), Failure> {
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
