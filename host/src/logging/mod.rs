//! The log on standard error, and the traces.

use crate::settings::{GlobalSettings, LogFormat, Sources};
use std::env;
use std::io::{self, IsTerminal};
use stepwell_demo::Failure;
use tracing_appender::non_blocking::WorkerGuard;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry};

mod otlp;
mod writer;

/// Keeps the log and the traces running until it is dropped.
#[derive(Debug)]
pub(crate) struct Logging {
    // Dropped before the log: errors of the last traces are logged.
    _traces: Option<otlp::Traces>,
    _log: Option<WorkerGuard>,
}

type BoxedLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// Starts the log, if it is asked for or the command has one by default, and the traces.
pub(crate) fn start(
    settings: &GlobalSettings,
    sources: &Sources,
    default_log: Option<&str>,
) -> Result<Logging, Failure> {
    let mut layers: Vec<BoxedLayer> = Vec::new();
    let log = log(settings, sources, default_log)?;
    let log = log.map(|(layer, log)| {
        layers.push(layer);
        log
    });
    let traces = otlp::traces()?;
    layers.extend(traces.as_ref().map(otlp::Traces::layer));
    if !layers.is_empty() {
        tracing_subscriber::registry().with(layers).init();
    }
    Ok(Logging {
        _traces: traces,
        _log: log,
    })
}

/// Returns whether the traces contain messages, by the variable of OpenTelemetry's own instrumentations.
pub(crate) fn traces_content() -> bool {
    let asked = env::var("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT");
    asked.is_ok_and(|asked| {
        let asked = asked.to_ascii_lowercase();
        ["true", "span_only", "span_and_event"].contains(&&*asked)
    })
}

/// Returns the layer that writes the log, and the guard that writes the rest of it when it is dropped.
fn log(
    settings: &GlobalSettings,
    sources: &Sources,
    default_log: Option<&str>,
) -> Result<Option<(BoxedLayer, WorkerGuard)>, Failure> {
    let wanted = settings.log.as_deref().filter(|log| !log.trim().is_empty());
    let Some(wanted) = wanted.or(default_log) else {
        return Ok(None);
    };
    // The MCP SDK logs complete messages, even at `info`: they need a filter that names it.
    let quiet = if wanted.contains("rmcp") {
        ""
    } else {
        ",rmcp=warn"
    };
    let filter = EnvFilter::try_new(format!("{wanted}{quiet}")).map_err(|error| {
        let origin = sources.origin("log");
        Failure::usage(format!("{origin}: `{wanted}`: {error}"))
    })?;
    // <https://no-color.org>
    let is_coloured =
        io::stderr().is_terminal() && env::var_os("NO_COLOR").is_none_or(|no| no.is_empty());
    let (writer, guard) = writer::start();
    let log = tracing_subscriber::fmt::layer()
        .with_writer(writer)
        .with_ansi(is_coloured);
    let layer = match settings.log_format {
        LogFormat::Text => log.with_filter(filter).boxed(),
        LogFormat::Json => log.json().with_filter(filter).boxed(),
    };
    Ok(Some((layer, guard)))
}
