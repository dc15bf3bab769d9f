//! The demo, for `cargo run` in a checkout. For any other command it has Cargo build `stepwell`.
#![forbid(unsafe_code)]

use clap::{Parser, Subcommand};
use std::env;
use std::ffi::OsString;
use std::io;
use std::process::{Command, ExitCode};
use stepwell_demo::{Demo, Failure};

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Option<DemoCommand>,
}

#[derive(Subcommand)]
enum DemoCommand {
    Demo(Demo),
}

/// Variables that the demo by itself does not read: for the log, custom providers, and traces.
const SETTINGS: [&str; 2] = ["STEPWELL_", "OTEL_"];

fn main() -> ExitCode {
    let is_set = env::vars_os().any(|(name, _)| {
        let name = name.to_string_lossy();
        SETTINGS.iter().any(|prefix| name.starts_with(prefix))
    });
    let ended = match Arguments::try_parse() {
        Ok(arguments) if !is_set => demo(arguments.command),
        // The program handles help and mistakes too.
        _ => stepwell(),
    };
    match ended {
        Ok(code) => code,
        Err(failure) => {
            if let Some(line) = failure.line() {
                eprintln!("stepwell: {line}");
            }
            failure.exit_code()
        }
    }
}

fn demo(command: Option<DemoCommand>) -> Result<ExitCode, Failure> {
    let demo = match command {
        Some(DemoCommand::Demo(demo)) => demo,
        None => Demo::default(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(demo.run())?;
    Ok(ExitCode::SUCCESS)
}

/// Has Cargo build the program in the same profile, and run it instead of this one.
fn stepwell() -> Result<ExitCode, Failure> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["run", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"))
        .arg("--profile")
        .arg(profile().unwrap_or_else(|| "dev".into()))
        .arg("--")
        .args(env::args_os().skip(1));
    let failed = |error: io::Error| {
        Failure::failed(format!(
            "cargo, which builds the program, cannot be started: {error}"
        ))
    };
    #[cfg(unix)]
    return Err(failed(std::os::unix::process::CommandExt::exec(
        &mut command,
    )));
    #[cfg(not(unix))]
    {
        let code = command.status().map_err(failed)?.code();
        let code = code.and_then(|code| u8::try_from(code).ok());
        Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
    }
}

/// Returns the profile of this build, by the name of its folder.
fn profile() -> Option<OsString> {
    let program = env::current_exe().ok()?;
    let folder = program.parent()?.file_name()?;
    (folder != "debug").then(|| folder.to_owned())
}
