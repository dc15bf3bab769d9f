use crate::secret_numbers;
use crate::terminal::{Screen, Shown, Summary};
use crate::{Failure, Format, follow, problem};
use clap::Args;
use futures::StreamExt;
use serde_json::json;
use std::io::{self, Write};
use std::time::{Duration, Instant};
use stepwell_core::dialect::Dialect;
use stepwell_io::config::TextOptions;
use stepwell_io::message::Message;
use stepwell_io::tool::ToolContext;
use stepwell_io::turn::{Finished, Start};
use stepwell_io::{Agent, AgentBuilder};
use stepwell_mock_llm::{MockLlm, Script};

/// Two secret numbers, found by two tools.
///
/// A complete turn over real HTTP: a scripted model on this machine streams its words, calls two tools, and continues
/// with their results.
#[derive(Args, Debug)]
pub struct Demo {
    /// Prints the final conversation as JSON, and nothing else.
    #[arg(long)]
    json: bool,
    /// The provider in whose format the model speaks; it still runs on this machine.
    #[arg(long, default_value = "openai-compatible")]
    provider: String,
    /// The provider's API, if not its default one.
    #[arg(long)]
    api: Option<String>,
}

impl Default for Demo {
    fn default() -> Self {
        Self {
            json: false,
            provider: "openai-compatible".to_owned(),
            api: None,
        }
    }
}

/// The question of the demo.
pub const QUESTION: &str = "What are Alice's and Bob's secret numbers?";

/// The secret numbers, and how long it takes to find each: long enough to be seen.
const NUMBERS: [(&str, u32, Duration); 2] = [
    ("alice", 42, Duration::from_millis(700)),
    ("bob", 7, Duration::from_millis(1100)),
];

impl Demo {
    /// Returns the format in which the model answers.
    #[must_use]
    pub fn format(&self) -> Format {
        Format {
            provider: self.provider.clone(),
            api: self.api.clone(),
        }
    }

    /// Runs and shows the turn.
    ///
    /// # Errors
    /// There is no such provider, or the turn failed.
    pub async fn run(self) -> Result<(), Failure> {
        let is_live = !self.json;
        let (_model, agent) = agent(&self.format(), is_live).await?;
        let agent = agent.build().map_err(Failure::failed)?;

        let begin = Instant::now();
        let question = Message::user("demo-question", QUESTION);
        let conversation = agent.conversation("demo");
        let run = conversation.start(Start::new("demo-run", question));
        let mut turn = run.stream().into_events();
        if self.json {
            while turn.next().await.is_some() {}
            let finished = turn.finish().await;
            print_conversation(&finished)?;
            return succeeded(&finished);
        }
        let mut shown = Shown::new(Screen::new(None));
        shown.question(QUESTION)?;
        let finished = follow(turn, &mut shown).await?;
        shown.summary(&Summary {
            hops: finished.hops,
            usage: &finished.usage,
            time: begin.elapsed(),
        })?;
        succeeded(&finished)
    }
}

/// Returns the scripted model, which answers until it is dropped, and an agent that asks it. If `is_live`, it answers
/// slowly enough to be watched.
///
/// # Errors
/// There is no such provider, or the model has no port to listen on.
pub async fn agent(format: &Format, is_live: bool) -> Result<(MockLlm, AgentBuilder), Failure> {
    let (provider, api) = format.find()?;
    let mut script = Script::secret_numbers();
    if is_live {
        script = script.piece_delay(Duration::from_millis(40));
    }
    let model = MockLlm::start(script).await.map_err(Failure::failed)?;
    let key = Some("demo-key".into());
    let endpoint = provider
        .endpoint(
            Some(&api.name),
            "secret-numbers",
            Some(&address(&model, api.dialect)?),
            key,
        )
        .map_err(Failure::failed)?;
    let agent = Agent::builder(endpoint)
        .tool(secret_numbers::get_tool(), move |call| {
            secret_number(call, is_live)
        })
        // Each call is shown on its own line.
        .configure(|config| config.text = TextOptions::AS_WRITTEN);
    Ok((model, agent))
}

/// Returns the base URL: the scripted model answers each format at a path of its own.
fn address(model: &MockLlm, dialect: Dialect) -> Result<String, Failure> {
    let spoken = stepwell_mock_llm::Dialect::ALL
        .into_iter()
        .find(|spoken| spoken.name() == dialect.name());
    let spoken = spoken.ok_or_else(|| {
        Failure::failed(format!(
            "the scripted model does not speak {}",
            dialect.name()
        ))
    })?;
    Ok(model.url(spoken))
}

async fn secret_number(call: ToolContext, is_live: bool) -> Result<String, String> {
    let name = call.arguments.value["name"].as_str().unwrap_or_default();
    let (_, number, delay) = NUMBERS
        .iter()
        .find(|(known, ..)| known.eq_ignore_ascii_case(name))
        .ok_or_else(|| format!("nobody here is called `{name}`"))?;
    if is_live {
        tokio::time::sleep(*delay).await;
    }
    Ok(number.to_string())
}

fn print_conversation(finished: &Finished) -> Result<(), Failure> {
    let transcript = json!({
        "threadId": "demo",
        "messages": finished.transcript.messages(),
    });
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, &transcript).map_err(io::Error::from)?;
    Ok(writeln!(out)?)
}

fn succeeded(finished: &Finished) -> Result<(), Failure> {
    match problem(&finished.outcome) {
        None => Ok(()),
        Some(problem) => Err(Failure::Failed(problem)),
    }
}
