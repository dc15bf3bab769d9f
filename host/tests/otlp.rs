//! The traces that the program sends, as a collector gets them.

#[path = "support/program.rs"]
mod program;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, Span};
use prost::Message;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;

type Received = Arc<Mutex<Vec<ResourceSpans>>>;

/// The collector's side of OTLP over HTTP.
async fn traces(State(received): State<Received>, head: HeaderMap, body: Bytes) -> StatusCode {
    assert_eq!(head["content-type"], "application/x-protobuf");
    let request = ExportTraceServiceRequest::decode(body).expect("an export request");
    let mut received = received.lock().expect("no panic holds it");
    received.extend(request.resource_spans);
    StatusCode::OK
}

fn text<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a str> {
    let attribute = attributes.iter().find(|attribute| attribute.key == key)?;
    match attribute.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text),
        _ => None,
    }
}

fn number(attributes: &[KeyValue], key: &str) -> Option<i64> {
    let attribute = attributes.iter().find(|attribute| attribute.key == key)?;
    match attribute.value.as_ref()?.value.as_ref()? {
        Value::IntValue(number) => Some(*number),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_its_hops_and_its_tools_are_spans_by_the_genai_conventions() {
    let received = Received::default();
    let collector = Router::new()
        .route("/v1/traces", post(traces))
        .with_state(Arc::clone(&received));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, collector).await });

    let mut command = program::stepwell(&["demo"]);
    command
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{address}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let ran = tokio::task::spawn_blocking(move || command.status()).await;
    assert!(ran.expect("it is waited for").expect("it runs").success());

    let received = received.lock().expect("no panic holds it").clone();
    let resource = received[0].resource.as_ref().expect("a resource");
    assert_eq!(text(&resource.attributes, "service.name"), Some("stepwell"));
    let spans: Vec<Span> = received
        .into_iter()
        .flat_map(|resource| resource.scope_spans)
        .flat_map(|scope| scope.spans)
        .collect();
    let named = |prefix: &str| -> Vec<&Span> {
        let spans = spans.iter();
        spans.filter(|span| span.name.starts_with(prefix)).collect()
    };
    let (turns, hops, tools) = (
        named("invoke_agent"),
        named("chat "),
        named("execute_tool "),
    );
    assert_eq!(
        (turns.len(), hops.len(), tools.len()),
        (1, 2, 2),
        "{spans:?}"
    );
    let turn = turns[0];
    assert!(turn.parent_span_id.is_empty());
    for span in &spans {
        assert_eq!(span.trace_id, turn.trace_id);
    }
    for hop in hops {
        assert_eq!(hop.parent_span_id, turn.span_id);
        assert_eq!(hop.kind, SpanKind::Client as i32);
        let attributes = &hop.attributes;
        assert_eq!(text(attributes, "gen_ai.operation.name"), Some("chat"));
        let model = text(attributes, "gen_ai.request.model").expect("a model");
        assert_eq!(hop.name, format!("chat {model}"));
        assert!(text(attributes, "gen_ai.provider.name").is_some());
        assert!(number(attributes, "gen_ai.usage.output_tokens").is_some());
    }
    for tool in tools {
        assert_eq!(tool.parent_span_id, turn.span_id);
        assert_eq!(tool.kind, SpanKind::Internal as i32);
        let name = text(&tool.attributes, "gen_ai.tool.name").expect("a tool");
        assert_eq!(tool.name, format!("execute_tool {name}"));
        assert!(text(&tool.attributes, "gen_ai.tool.call.id").is_some());
    }
    for said in ["secret numbers", "Alice"] {
        let is_said = format!("{spans:?}").contains(said);
        assert!(!is_said, "{said} is in {spans:?}");
    }
}
