//! The `mock-llm` program: a scripted provider for apps and tests that are not written in Rust.
#![forbid(unsafe_code)]

use std::error::Error;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use serde_json::json;
use stepwell_mock_llm::{Dialect, MockLlm, Script};

/// A scripted language model behind a real HTTP port, for testing an app that calls one.
///
/// Prints one line of JSON with its addresses, then serves until standard input closes.
/// GET {root}/__requests gives the requests it had, GET {root}/__failures what was wrong with them.
#[derive(Parser)]
#[command(name = "mock-llm", version)]
struct Arguments {
    /// The script, a JSON file; `-` reads the first JSON value of standard input. Without one the model
    /// plays the built-in conversation about secret numbers.
    script: Option<PathBuf>,

    /// The port on 127.0.0.1; 0 is any free one.
    #[arg(long, default_value_t = 0)]
    port: u16,

    /// Milliseconds between two pieces of an answer.
    #[arg(long, value_name = "MILLISECONDS")]
    piece_delay_ms: Option<u64>,

    /// Keep serving when standard input closes, until the program is killed.
    #[arg(long)]
    detach: bool,
}

fn main() -> ExitCode {
    match serve(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mock-llm: {error}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn serve(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let mut script = match &arguments.script {
        None => Script::secret_numbers(),
        Some(path) if path.as_os_str() == "-" => Script::from_reader(io::stdin().lock())?,
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .map_err(|error| format!("cannot read the script {}: {error}", path.display()))?;
            Script::from_json(&text)?
        }
    };
    if let Some(milliseconds) = arguments.piece_delay_ms {
        script = script.piece_delay(Duration::from_millis(milliseconds));
    }
    let server = MockLlm::start_on(arguments.port, script).await?;
    let urls: serde_json::Map<_, _> = Dialect::ALL
        .into_iter()
        .map(|dialect| (dialect.name().to_owned(), server.url(dialect).into()))
        .collect();
    let addresses = json!({
        "root": server.root(),
        "base_url": server.base_url(),
        "ag_ui_url": server.ag_ui_url(),
        "urls": urls,
    });
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{addresses}")?;
    stdout.flush()?;
    drop(stdout);

    if arguments.detach {
        std::future::pending::<()>().await;
    }
    // A thread of its own: a read of standard input cannot be given up.
    let (closed, wait) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        let mut stdin = io::stdin().lock();
        while matches!(stdin.read(&mut buffer), Ok(1..)) {}
        drop(closed);
    });
    let _ = wait.await;
    server.shutdown().await;
    Ok(())
}
