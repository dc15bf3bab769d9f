//! The Stepwell program: the demo, a chat, an AG-UI server, and tools for recorded streams and journals.
#![forbid(unsafe_code)]

mod commands;
mod failure;
mod input;
mod logging;
mod mcp;
mod serve;
mod terminal;
mod tools;

use clap::Parser;
use clap::error::ErrorKind;
use commands::Command;
use failure::Failure;
use logging::LogFormat;
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs the loop between a person, a language model and tools.
///
/// Without a command: the demo.
///
/// STEPWELL_LOG turns the log on, on standard error: `STEPWELL_LOG=stepwell=debug`.
#[derive(Debug, Parser)]
#[command(name = "stepwell", version)]
struct Cli {
    /// How the log is written; STEPWELL_LOG says what of it.
    #[arg(long, global = true, value_enum, default_value_t)]
    log_format: LogFormat,
    /// A file with providers of your own: JSON, or TOML if it ends so.
    #[arg(long, global = true, value_name = "FILE", env = "STEPWELL_PROVIDERS")]
    providers: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

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
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            return match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(error.print()?),
                _ => Err(Failure::command_line(&error)),
            };
        }
    };
    logging::start(cli.log_format)?;
    if let Some(file) = &cli.providers {
        input::add_providers(file)?;
    }
    cli.command.unwrap_or_default().run()
}
