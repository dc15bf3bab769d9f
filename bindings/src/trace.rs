//! The spans of turns, for tracers of other languages.

use crate::error::CallbackError;
use crate::json_value::JsonValue;
use crate::log::{self, Said};
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Metadata, Subscriber};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::{LookupSpan, Registry};
use uuid::Uuid;

/// A finished span: a turn, one request to its model, or one call of a tool. The names are those of OpenTelemetry's
/// conventions for generative AI.
#[derive(Clone, Debug, uniffi::Record)]
pub struct FinishedSpan {
    /// The trace: 32 hexadecimal digits. All spans of a turn belong to one trace.
    pub trace_id: String,
    /// The span: 16 hexadecimal digits.
    pub span_id: String,
    /// The parent span; absent for a turn outside of any span of the app.
    pub parent_span_id: Option<String>,
    /// The name: "invoke_agent", "chat gpt-4o-mini", "execute_tool get_weather".
    pub name: String,
    /// Whether the span is work of the app or a request to a server.
    pub kind: SpanKind,
    /// When the span began, in nanoseconds since the Unix epoch.
    pub started_unix_nanos: u64,
    /// When the span ended, in nanoseconds since the Unix epoch.
    pub ended_unix_nanos: u64,
    /// The attributes: a JSON object of texts, numbers, truth values and lists of texts.
    pub attributes: JsonValue,
    /// The kind of error that the span ended with, if any; it is the attribute "error.type" too.
    pub error: Option<String>,
}

/// The kind of work of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum SpanKind {
    /// Work in the app: a turn, a tool.
    Internal,
    /// A request to a server: the model's.
    Client,
}

/// A span of the app's own.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct SpanParent {
    /// The trace: 32 hexadecimal digits.
    pub trace_id: String,
    /// The span: 16 hexadecimal digits.
    pub span_id: String,
}

/// The app's tracer.
#[uniffi::export(foreign)]
pub trait SpanSink: Send + Sync {
    /// Takes a finished span; the parts of a turn come before the turn. Called on a thread that does nothing else, one
    /// span after the other, and with no lock held.
    fn span(&self, span: FinishedSpan) -> Result<(), CallbackError>;

    /// Returns the app's span that should be the parent of a turn that begins now, on this thread; none if there is no
    /// such span.
    fn parent(&self) -> Result<Option<SpanParent>, CallbackError>;
}

/// Sends the spans of turns to the app's tracer, from now on. They hold no key. They hold no content unless `content`
/// is `true`: then the agents that are created from now on report instructions, messages, arguments and results. To be
/// called once; returns whether this was the first call.
#[uniffi::export(default(content = false))]
pub fn trace_to(sink: Arc<dyn SpanSink>, content: bool) -> bool {
    let is_first = TRACER.set(Tracer { sink, content }).is_ok();
    is_first && log::subscribe()
}

struct Tracer {
    sink: Arc<dyn SpanSink>,
    content: bool,
}

static TRACER: OnceLock<Tracer> = OnceLock::new();

thread_local! {
    /// The app's span around the turn that begins on this thread.
    static AROUND: RefCell<Option<Ids>> = const { RefCell::new(None) };
}

/// Returns whether spans go anywhere.
pub(crate) fn is_on() -> bool {
    TRACER.get().is_some()
}

/// Returns whether spans report content.
pub(crate) fn tells_content() -> bool {
    TRACER.get().is_some_and(|tracer| tracer.content)
}

/// Begins a turn as a part of the app's own span, if there is one.
pub(crate) fn within_the_apps_span<T>(begin: impl FnOnce() -> T) -> T {
    // If the app's tracer fails, the turn has no parent span.
    let parent = TRACER.get().and_then(|tracer| tracer.sink.parent().ok()?);
    let around = parent.and_then(|parent| Ids::read(&parent));
    AROUND.set(around);
    let begun = begin();
    AROUND.set(None);
    begun
}

/// Hands a span to the app.
pub(crate) fn deliver(span: FinishedSpan) {
    if let Some(tracer) = TRACER.get() {
        // If the app's tracer fails, there is no one to report the failure to.
        let _ = tracer.sink.span(span);
    }
}

/// Returns whether the span is one of Stepwell's that are reported.
pub(crate) fn tells(metadata: &Metadata<'_>) -> bool {
    is_on() && metadata.is_span() && metadata.target().starts_with("stepwell")
}

#[derive(Clone, Copy)]
struct Ids {
    trace: u128,
    span: u64,
}

impl Ids {
    fn read(parent: &SpanParent) -> Option<Self> {
        let trace = u128::from_str_radix(&parent.trace_id, 16).ok()?;
        let span = u64::from_str_radix(&parent.span_id, 16).ok()?;
        (trace != 0 && span != 0).then_some(Self { trace, span })
    }
}

/// Returns the current span and those around it, the innermost first, each as a JSON object with the fields of a
/// [`FinishedSpan`] that are known by now; none if spans go nowhere. The app's tracer may open its own spans for them
/// before they end, so that what a tool does becomes a part of its span.
pub(crate) fn open_spans() -> Vec<Value> {
    if !is_on() {
        return Vec::new();
    }
    let open = tracing::Span::current().with_subscriber(|(id, subscriber)| {
        let registry = subscriber.downcast_ref::<Registry>()?;
        let spans = registry.span(id)?.scope();
        Some(
            spans
                .filter_map(|span| span.extensions().get::<Open>().map(Open::told))
                .collect(),
        )
    });
    open.flatten().unwrap_or_default()
}

/// A span that is open.
struct Open {
    ids: Ids,
    parent: Option<u64>,
    started: SystemTime,
    name: String,
    kind: SpanKind,
    attributes: Map<String, Value>,
}

pub(crate) fn open<S>(attributes: &Attributes<'_>, id: &Id, context: &Context<'_, S>)
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let Some(span) = context.span(id) else {
        return;
    };
    let parent = span.parent();
    let parent = parent.and_then(|parent| Some(parent.extensions().get::<Open>()?.ids));
    let parent = parent.or_else(|| AROUND.with_borrow(|around| *around));
    let random = || Uuid::new_v4().as_u128();
    #[expect(clippy::cast_possible_truncation, reason = "any bits of it will do")]
    let own = (random() as u64).max(1);
    let mut open = Open {
        ids: Ids {
            trace: parent.map_or_else(random, |parent| parent.trace),
            span: own,
        },
        parent: parent.map(|parent| parent.span),
        started: SystemTime::now(),
        name: span.name().to_owned(),
        kind: SpanKind::Internal,
        attributes: Map::new(),
    };
    attributes.record(&mut open);
    span.extensions_mut().insert(open);
}

pub(crate) fn record<S>(id: &Id, values: &Record<'_>, context: &Context<'_, S>)
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    if let Some(span) = context.span(id)
        && let Some(open) = span.extensions_mut().get_mut::<Open>()
    {
        values.record(open);
    }
}

pub(crate) fn close<S>(id: &Id, context: &Context<'_, S>)
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let open = context.span(id);
    let open = open.and_then(|span| span.extensions_mut().remove::<Open>());
    if let Some(open) = open {
        log::say(Said::Span(Box::new(open.finish())));
    }
}

impl Open {
    fn told(&self) -> Value {
        json!({
            "trace_id": format!("{:032x}", self.ids.trace),
            "span_id": format!("{:016x}", self.ids.span),
            "parent_span_id": self.parent.map(|parent| format!("{parent:016x}")),
            "name": self.name,
            "started_unix_nanos": nanos(self.started),
            "attributes": self.attributes,
        })
    }

    fn finish(self) -> FinishedSpan {
        let error = self.attributes.get("error.type");
        FinishedSpan {
            trace_id: format!("{:032x}", self.ids.trace),
            span_id: format!("{:016x}", self.ids.span),
            parent_span_id: self.parent.map(|parent| format!("{parent:016x}")),
            name: self.name,
            kind: self.kind,
            started_unix_nanos: nanos(self.started),
            ended_unix_nanos: nanos(SystemTime::now()),
            error: error.and_then(Value::as_str).map(str::to_owned),
            attributes: JsonValue::of(&self.attributes),
        }
    }

    fn put(&mut self, field: &Field, value: Value) {
        match (field.name(), value.as_str()) {
            ("otel.name", Some(name)) => name.clone_into(&mut self.name),
            ("otel.kind", Some("client")) => self.kind = SpanKind::Client,
            // The `error` of the span reports this already.
            (name, _) if name.starts_with("otel.") => {}
            (name, _) => {
                self.attributes.insert(name.to_owned(), value);
            }
        }
    }
}

fn nanos(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

impl Visit for Open {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = format!("{value:?}");
        // A list of texts is printed as JSON.
        let list = serde_json::from_str::<Vec<String>>(&text);
        self.put(field, list.map_or_else(|_| text.into(), Into::into));
    }
}
