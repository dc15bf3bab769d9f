use crate::failure::Failure;
use clap::ValueEnum;
use std::io;
use tracing_subscriber::EnvFilter;

/// The variable that says what is logged.
const VARIABLE: &str = "STEPWELL_LOG";

/// How the log is written.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines to read.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Turns the log on, if the environment asks for it.
pub(crate) fn start(format: LogFormat) -> Result<(), Failure> {
    let Some(wanted) = std::env::var(VARIABLE)
        .ok()
        .filter(|wanted| !wanted.trim().is_empty())
    else {
        return Ok(());
    };
    // The MCP SDK writes whole messages, and at `info` too: only who asks for them by name has them.
    let quiet = if wanted.contains("rmcp") {
        ""
    } else {
        ",rmcp=warn"
    };
    let filter = EnvFilter::try_new(format!("{wanted}{quiet}"))
        .map_err(|error| Failure::usage(format!("{VARIABLE}=`{wanted}`: {error}")))?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr);
    match format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().init(),
    }
    Ok(())
}
