//! The log on standard error, and the traces.

use crate::settings::InForce;
use clap::ValueEnum;
use std::env;
use std::io::{self, IsTerminal};
use stepwell_demo::Failure;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry};

mod otlp;

/// How the log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines to read.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Keeps log and traces going.
#[derive(Debug)]
pub(crate) struct Logging {
    _traces: Option<otlp::Traces>,
}

type BoxedLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// Turns the log on, if it is asked for or the command has one `by_default`, and the traces.
pub(crate) fn start(in_force: &InForce, by_default: Option<&str>) -> Result<Logging, Failure> {
    let mut layers: Vec<BoxedLayer> = Vec::new();
    layers.extend(log(in_force, by_default)?);
    let traces = otlp::traces()?;
    layers.extend(traces.as_ref().map(otlp::Traces::layer));
    if !layers.is_empty() {
        tracing_subscriber::registry().with(layers).init();
    }
    Ok(Logging { _traces: traces })
}

/// Whether the traces are to tell what was said, by the variable that OpenTelemetry's own instrumentations have for it.
pub(crate) fn traces_content() -> bool {
    let asked = env::var("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT");
    asked.is_ok_and(|asked| {
        let asked = asked.to_ascii_lowercase();
        ["true", "span_only", "span_and_event"].contains(&&*asked)
    })
}

fn log(in_force: &InForce, by_default: Option<&str>) -> Result<Option<BoxedLayer>, Failure> {
    let settings = &in_force.settings;
    let wanted = settings.log.as_deref().filter(|log| !log.trim().is_empty());
    let Some(wanted) = wanted.or(by_default) else {
        return Ok(None);
    };
    // The MCP SDK writes whole messages, and at `info` too: only who asks for them by name has them.
    let quiet = if wanted.contains("rmcp") {
        ""
    } else {
        ",rmcp=warn"
    };
    let filter = EnvFilter::try_new(format!("{wanted}{quiet}")).map_err(|error| {
        let origin = in_force.origin("log");
        Failure::usage(format!("{origin}: `{wanted}`: {error}"))
    })?;
    // Colours are for people: `NO_COLOR` says that they want none.
    let is_coloured =
        io::stderr().is_terminal() && env::var_os("NO_COLOR").is_none_or(|no| no.is_empty());
    let log = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(is_coloured);
    Ok(Some(match settings.log_format {
        LogFormat::Text => log.with_filter(filter).boxed(),
        LogFormat::Json => log.json().with_filter(filter).boxed(),
    }))
}
