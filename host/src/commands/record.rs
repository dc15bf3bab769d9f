use super::replay::redacted;
use crate::settings::{LimitSettings, ModelSettings, Sources};
use crate::setup::endpoint;
use crate::tools::{calculator, clock};
use clap::Args;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use stepwell_demo as demo;
use stepwell_demo::Failure;
use stepwell_demo::terminal::{Screen, Shown};
use stepwell_demo::{follow, problem};
use stepwell_io::{Agent, RunId};

/// Writes the journal of one turn.
///
/// Without a provider it records the demo's turn with its scripted model, without key and network. A journal holds the
/// complete conversation, but no key; --redact hides the texts and keeps the structure; such a journal cannot be replayed.
#[derive(Args, Debug)]
pub(crate) struct Record {
    /// The file to write; an existing file is replaced.
    file: PathBuf,
    /// Hides the texts, which are never written to the file.
    #[arg(long)]
    redact: bool,
    #[command(flatten)]
    model: ModelSettings,
    #[command(flatten)]
    limits: LimitSettings,
    /// The question to the model.
    #[arg(long, value_name = "TEXT", default_value = demo::QUESTION)]
    question: String,
}

impl Record {
    pub(crate) async fn run(self, sources: &Sources) -> Result<(), Failure> {
        let endpoint = endpoint(&self.model)?;
        if endpoint.is_none() {
            sources.refuse_provider_flags(&["api", "base_url", "instructions", "model"])?;
        }
        let journal = Journal::to(&self.file, self.redact)?;
        let mut scripted = None;
        let agent = match endpoint {
            None => {
                let (model, agent) = demo::agent(&demo::Demo::default().format(), false).await?;
                scripted = Some(model);
                agent
            }
            Some(endpoint) => {
                let agent = Agent::builder(endpoint)
                    .tool(clock::tool(), clock::run)
                    .tool(calculator::tool(), calculator::run);
                match &self.model.instructions {
                    Some(instructions) => agent.instructions(instructions),
                    None => agent,
                }
            }
        };
        let journal = Arc::new(Mutex::new(journal));
        let sink = Arc::clone(&journal);
        let agent = agent
            .configure(|config| self.limits.apply(&mut config.limits))
            .journal(move |_: &RunId, lines: &str| lock(&sink).write(lines))
            .build()
            .map_err(Failure::usage)?;
        let mut shown = Shown::new(Screen::new(None));
        shown.question(&self.question)?;
        let turn = agent.stream(&*self.question).into_events();
        let finished = follow(turn, &mut shown).await?;
        drop(scripted);
        lock(&journal).finish(&self.file)?;
        match problem(&finished.outcome) {
            None => Ok(()),
            Some(problem) => Err(Failure::Failed(problem)),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The target of the lines.
enum Journal {
    /// To the file at once, so that they are kept whatever happens.
    File(fs::File, io::Result<()>),
    /// To memory, until they are redacted.
    Memory(String),
}

impl Journal {
    fn to(path: &Path, redact: bool) -> Result<Self, Failure> {
        if redact {
            return Ok(Self::Memory(String::new()));
        }
        let file = fs::File::create(path);
        let file = file.map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
        Ok(Self::File(file, Ok(())))
    }

    fn write(&mut self, lines: &str) {
        match self {
            Self::File(file, result) => {
                if result.is_ok() {
                    *result = file.write_all(lines.as_bytes());
                }
            }
            Self::Memory(text) => text.push_str(lines),
        }
    }

    fn finish(&mut self, path: &Path) -> Result<(), Failure> {
        let written = match self {
            Self::File(_, result) => std::mem::replace(result, Ok(())),
            Self::Memory(text) => fs::write(path, redacted(text)?),
        };
        written.map_err(|error| Failure::failed(format!("{}: {error}", path.display())))
    }
}
