//! Exports traces by the OpenTelemetry protocol, <https://opentelemetry.io/docs/specs/otlp/>, as protobuf over HTTP. Its
//! own variables configure it: <https://opentelemetry.io/docs/specs/otel/protocol/exporter/>.

use super::BoxedLayer;
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use std::env;
use stepwell_demo::Failure;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};

/// The variables of which one names the collector.
const ADDRESS_VARIABLES: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
];

/// Sends spans in batches, and the remaining ones when it is dropped.
#[derive(Debug)]
pub(super) struct Traces(SdkTracerProvider);

/// Starts the traces, if a variable names a collector.
pub(super) fn traces() -> Result<Option<Traces>, Failure> {
    let mut variables = ADDRESS_VARIABLES.into_iter();
    let set = variables.find(|name| env::var_os(name).is_some_and(|value| !value.is_empty()));
    let Some(variable) = set else {
        return Ok(None);
    };
    // The exporter's own HTTP client uses the process's crypto provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let exporter = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .build()
        .map_err(|error| Failure::usage(format!("{variable}: {error}")))?;
    let mut resource = Resource::builder()
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    if env::var_os("OTEL_SERVICE_NAME").is_none() {
        resource = resource.with_service_name("stepwell");
    }
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(resource.build())
        .build();
    Ok(Some(Traces(provider)))
}

impl Traces {
    pub(super) fn layer(&self) -> BoxedLayer {
        let ours = Targets::new().with_target("stepwell", LevelFilter::INFO);
        tracing_opentelemetry::layer()
            .with_tracer(self.0.tracer("stepwell"))
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_filter(ours)
            .boxed()
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        if let Err(error) = self.0.shutdown() {
            tracing::warn!(target: "stepwell", %error, "the last traces were not sent");
        }
    }
}
