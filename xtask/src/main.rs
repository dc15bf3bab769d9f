//! The project's own commands; `cargo xtask help` lists them.
#![forbid(unsafe_code)]

mod allowed_skips;
mod bindings;
mod context;
mod faults;
mod features;
mod installs;
mod json;
mod linter;
mod log;
mod once;
mod packages;
mod pages;
mod process;
mod prove;
mod quick;
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
    Test {
        /// The suites to run; `cargo xtask list` shows them. `quick` is none of them: it formats, lints and tests what has
        /// changed, and what depends on it.
        names: Vec<String>,
        /// For `quick`: what has changed since this commit.
        #[arg(long, value_name = "COMMIT", default_value = "HEAD")]
        since: String,
        /// A skip that .ci/allowed-skips does not list is a failure. On when CI is set.
        #[arg(long)]
        ci: bool,
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
    Docs {
        /// With the reference that each language's own tool makes of the sources. It builds every package.
        #[arg(long)]
        reference: bool,
        /// Records README's moving pictures anew, of the page and of a notebook: docs/recording/*.webp.
        #[arg(long)]
        record: bool,
    },
    /// Makes what would be published, in target/package; without a name it lists what there is.
    Package { name: Option<String> },
    /// Writes what comes of each input into the files of tests/scenarios.
    Scenarios {
        /// Does it; without it they are only played.
        #[arg(long)]
        update: bool,
    },
    /// Decodes the recorded streams of ../shared/fixtures, with a score for each provider.
    Conformance,
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
    if let Some(compiled) = linter::run() {
        return compiled.unwrap_or_else(|error| {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        });
    }
    match process::end_all_on_ctrl_c().and_then(|()| run(Arguments::parse().command)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    let context = |ci| Context::load(ci || context::continuous_integration());
    match command {
        Command::Test { names, since, .. } if names == ["quick"] => {
            quick::run(&context(false)?, &since)
        }
        Command::Test { names, ci, .. } => runner::run(context(ci)?, &names),
        Command::List => {
            for suite in suites::ALL {
                println!("{:<18} {}", suite.name, suite.about);
            }
            Ok(ExitCode::SUCCESS)
        }
        Command::Bindings {
            language,
            update_names,
        } => {
            bindings::command(&context(false)?, language, update_names)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Shapes { check } => {
            bindings::shapes(&context(false)?, check)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Features => {
            features::write(&context(false)?)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Docs { reference, record } => {
            pages::site::command(&context(false)?, reference, record)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Package { name } => {
            packages::command(&context(false)?, name.as_deref())?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Scenarios { update } => scenarios(&context(false)?, update),
        Command::Conformance => runner::run(context(false)?, &["conformance".to_owned()]),
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
            prove::run(&context(false)?, &steps, options)
        }
    }
}

fn scenarios(context: &Context, update: bool) -> anyhow::Result<ExitCode> {
    let mut test = process::cargo();
    test.args(["test", "-p", "stepwell-core", "--test", "scenarios"])
        .env("STEPWELL_UPDATE", if update { "1" } else { "" })
        .current_dir(&context.root);
    let is_well = process::status(&mut test)?.success();
    Ok(if is_well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
