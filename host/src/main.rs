//! The Stepwell program: the demo, a chat, an AG-UI server, and tools for recorded streams and journals.
#![forbid(unsafe_code)]

mod access;
mod commands;
mod logging;
mod serve;
mod settings;
mod setup;
mod tools;

use clap::{CommandFactory, Parser};
use commands::{Command, Invocation};
use settings::GlobalSettings;
use std::process::ExitCode;
use stepwell_demo::Failure;

/// Runs the loop between a user, a language model and tools.
///
/// Without a command: the demo. Settings come from flags, environment variables and a file, in that order: see `stepwell config`. STEPWELL_LOG turns
/// the log on standard error on: `STEPWELL_LOG=stepwell=debug`. `serve` logs warnings and errors by default.
#[derive(Debug, Parser)]
#[command(name = "stepwell", version, after_help = TO_TRY)]
struct Cli {
    #[command(flatten)]
    global: GlobalSettings,
    #[command(subcommand)]
    command: Option<Command>,
}

/// The first commands for a new user.
const TO_TRY: &str = "\
Try, without a key:
  stepwell                 a turn with two tools, as it happens
  stepwell chat            talk with a scripted model; /help says what about
  stepwell serve           the same in a browser, and for any AG-UI client
  stepwell load http://127.0.0.1:8000/agent
                           how much load that server carries
Then with a model of your own:
  stepwell providers       the providers, and the variable of each one's key
  stepwell chat --provider anthropic --model MODEL
  stepwell chat --provider ollama --model MODEL --store sqlite:chat.db
Once and for all:
  stepwell config          the settings, and the file to set them in
  stepwell completions     the script with which your shell completes all this";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Some(line) = failure.line() {
                eprintln!("stepwell: {line}");
            }
            failure.exit_code()
        }
    }
}

fn run() -> Result<(), Failure> {
    let (cli, sources) = settings::parse::<Cli>()?;
    let command = cli.command.unwrap_or_default();
    // Dropping it sends the last traces.
    let _logging = logging::start(&cli.global, &sources, command.default_log())?;
    if let Some(file) = &cli.global.providers {
        setup::add_providers(file)?;
    }
    command.run(Invocation {
        global: cli.global,
        sources,
        command_line: Cli::command(),
    })
}
