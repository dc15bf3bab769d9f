//! The project's own commands; `cargo xtask help` lists them.
#![forbid(unsafe_code)]

mod bindings;
mod context;
mod faults;
mod features;
mod installs;
mod log;
mod once;
mod packages;
mod pages;
mod process;
mod prove;
mod runner;
mod suites;
mod tools;
mod workspace;

use bindings::Language;
use clap::{Parser, Subcommand};
use context::Context;
use std::process::ExitCode;

/// Stepwell's own commands.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs every suite, or only the named ones, and sets up what they need.
    ///
    /// With CI set in the environment a skip that .ci/allowed-skips does not list is a failure.
    Test {
        /// The suites to run; `cargo xtask list` shows them.
        names: Vec<String>,
    },
    /// Lists the suites.
    List,
    /// Builds the library and generates one language's sources where its package expects them.
    Bindings {
        language: Language,
        /// Rewrites the checked-in list of public names (Swift only).
        #[arg(long)]
        update_names: bool,
    },
    /// Writes docs/features.md: which language has what of Rust's agent.
    Features,
    /// Builds the site of the docs in target/site.
    Docs,
    /// Makes what would be published, in target/package; without a name it lists what there is.
    Package { name: Option<String> },
    /// Runs the long proofs, or only the named ones.
    Prove(prove::Options),
}

fn main() -> ExitCode {
    match process::end_all_on_ctrl_c().and_then(|()| run(Arguments::parse().command)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    let context = Context::load()?;
    match command {
        Command::Test { names } => return runner::run(context, &names),
        Command::List => {
            for suite in suites::ALL {
                println!("{:<18} {}", suite.name, suite.about);
            }
        }
        Command::Bindings {
            language,
            update_names,
        } => bindings::command(&context, language, update_names)?,
        Command::Features => features::write(&context)?,
        Command::Docs => pages::site::command(&context)?,
        Command::Package { name } => packages::command(&context, name.as_deref())?,
        Command::Prove(options) => return prove::run(&context, &options),
    }
    Ok(ExitCode::SUCCESS)
}
