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
    /// Builds the library and generates the bindings of one language where its package expects them.
    Bindings {
        language: Language,
        /// Rewrites the checked-in list of public names (Swift only).
        #[arg(long)]
        update_names: bool,
    },
    /// Writes the shapes of the bindings in the languages whose sources are committed.
    Shapes {
        /// Only says whether they are as they should be.
        #[arg(long)]
        check: bool,
    },
    /// Writes docs/features.md: which language has what of Rust's agent.
    Features,
    /// Builds the site of the docs in target/site.
    Docs,
    /// Makes what would be published, in target/package; without a name it lists what there is.
    Package { name: Option<String> },
    /// Runs the long proofs, or only the named ones.
    Prove {
        /// The steps to run; `list` shows them. `mutants 2/8` takes a part of the mutants.
        steps: Vec<String>,
        /// Cases for each property.
        #[arg(long, default_value_t = 20_000)]
        cases: u32,
        /// How long each fuzz target runs.
        #[arg(long, default_value_t = 600)]
        seconds: u32,
        /// Only the mutants whose names match, such as `timer.rs` or `Recorder::`; only the fuzz target or the install of this
        /// name; only the page of these steps.
        #[arg(long, value_name = "REGEX")]
        only: Option<String>,
        /// Tries only the mutants that no test has found yet, if nothing but tests has changed since the last run.
        #[arg(long)]
        go_on: bool,
    },
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
        Command::Shapes { check } => bindings::shapes(&context, check)?,
        Command::Features => features::write(&context)?,
        Command::Docs => pages::site::command(&context)?,
        Command::Package { name } => packages::command(&context, name.as_deref())?,
        Command::Prove {
            steps,
            cases,
            seconds,
            only,
            go_on,
        } => {
            let options = prove::Options {
                cases,
                seconds,
                shard: None,
                only,
                go_on,
            };
            return prove::run(&context, &steps, options);
        }
    }
    Ok(ExitCode::SUCCESS)
}
