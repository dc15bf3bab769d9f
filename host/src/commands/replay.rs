use clap::Args;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use stepwell_core::journal::{Journal, JournalEnd, Replayed};
use stepwell_core::run::Outcome;
use stepwell_demo::Failure;

/// Replays a journal.
///
/// Prints the inputs, the effects, the states, the outcome and the digest. If an input has other results than in the
/// journal, the input is named and the exit code is 1.
#[derive(Args, Debug)]
pub(crate) struct Replay {
    /// The journal, as `stepwell record` writes it; `-` is standard input.
    file: PathBuf,
    /// Writes a copy with the texts hidden to this file. The copy cannot be replayed.
    #[arg(long, value_name = "COPY")]
    redact: Option<PathBuf>,
    /// Writes a copy with the requests, the events and the blocks in full, for the page to show; without keys.
    #[arg(long, value_name = "COPY")]
    full: Option<PathBuf>,
}

impl Replay {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let text = read(&self.file)?;
        let shown = self.file.display();
        let journal =
            Journal::parse(&text).map_err(|error| Failure::failed(format!("{shown}: {error}")))?;
        let replayed = journal.replay().map_err(Failure::failed)?;
        if let Some(copy) = &self.redact {
            write(copy, &journal.redact())?;
        }
        if let Some(copy) = &self.full {
            write(copy, &journal.to_full_text().map_err(Failure::failed)?)?;
        }
        summary(&replayed)?;
        Ok(())
    }
}

/// Returns the journal with its texts hidden.
pub(super) fn redacted(text: &str) -> Result<String, Failure> {
    let journal = Journal::parse(text).map_err(Failure::failed)?;
    Ok(journal.redact())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| Failure::failed(format!("{}: {error}", path.display())))
}

fn read(path: &Path) -> Result<String, Failure> {
    let shown = path.display();
    let mut text = String::new();
    let read = if path == Path::new("-") {
        io::stdin().lock().read_to_string(&mut text)
    } else {
        fs::File::open(path).and_then(|mut file| file.read_to_string(&mut text))
    };
    match read {
        Ok(_) => Ok(text),
        Err(error) => Err(Failure::usage(format!("{shown}: {error}"))),
    }
}

fn summary(replayed: &Replayed) -> io::Result<()> {
    let effects: Vec<_> = replayed.effects.iter().map(ToString::to_string).collect();
    let states: Vec<_> = replayed.states.iter().map(ToString::to_string).collect();
    let mut out = io::stdout().lock();
    writeln!(out, "inputs   {}", replayed.inputs)?;
    writeln!(out, "effects  {}", effects.join(" "))?;
    writeln!(out, "events   {}", replayed.events)?;
    writeln!(out, "states   {}", states.join(" → "))?;
    writeln!(out, "outcome  {}", outcome(replayed.outcome.as_ref()))?;
    writeln!(out, "digest   {}", replayed.digest)?;
    match replayed.ending {
        JournalEnd::Closed(_) => Ok(()),
        JournalEnd::Cut { line } => {
            writeln!(out, "cut      in line {line}: what is before it replays")
        }
        _ => writeln!(
            out,
            "open     the journal was not closed: what is there replays"
        ),
    }
}

fn outcome(outcome: Option<&Outcome>) -> String {
    let name = |outcome| {
        serde_json::to_value(outcome).ok()?["outcome"]
            .as_str()
            .map(str::to_owned)
    };
    match outcome {
        None => "none yet".to_owned(),
        Some(Outcome::Failed { failure }) => format!("failed: {failure}"),
        Some(outcome) => name(outcome).unwrap_or_default(),
    }
}
