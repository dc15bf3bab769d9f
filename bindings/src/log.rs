//! Stepwell's own log, for languages that have a log of their own.

use crate::error::CallbackError;
use crate::trace::{self, FinishedSpan};
use std::fmt::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::{LookupSpan, Registry};

/// The severity of a line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum LogLevel {
    /// For finding faults. The line may hold texts of the conversation.
    Debug,
    /// Normal operation.
    Info,
    /// Something odd, or an error that was recovered from.
    Warn,
    /// An error.
    Error,
}

/// The app's log.
#[uniffi::export(foreign)]
pub trait LogSink: Send + Sync {
    /// Takes a line. Called on a thread that does nothing else, one line after the other, and with no lock held.
    fn log(&self, level: LogLevel, message: String) -> Result<(), CallbackError>;
}

/// Sends Stepwell's own log to the app's log, from now on. No key is in it, and above the debug level no text of a
/// conversation. To be called once; returns whether this was the first call.
#[uniffi::export]
pub fn log_to(log: Arc<dyn LogSink>) -> bool {
    LOG.set(log).is_ok() && subscribe()
}

/// Subscribes to Stepwell's own log from now on. Returns `false` if another part of the program has done so already.
pub(crate) fn subscribe() -> bool {
    static TAKES: OnceLock<bool> = OnceLock::new();
    let takes = *TAKES.get_or_init(|| {
        let ours = Registry::default().with(ToApp);
        tracing::subscriber::set_global_default(ours).is_ok()
    });
    // Callsites that were disabled before may be enabled now.
    tracing::callsite::rebuild_interest_cache();
    takes
}

static LOG: OnceLock<Arc<dyn LogSink>> = OnceLock::new();
static WRITER: Mutex<Writer> = Mutex::new(Writer::NotBegun);
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// The maximum number of lines and spans that wait for the app.
const WAITING: usize = 1024;

/// A message for the app.
pub(crate) enum Said {
    Line(LogLevel, String),
    Span(Box<FinishedSpan>),
}

/// The thread that calls the app. Code that logs may hold a lock that the app's code would wait for.
pub(crate) enum Writer {
    NotBegun,
    Running {
        lines: SyncSender<Said>,
        /// Carries no messages; the channel ends with the thread.
        ended: Receiver<()>,
        /// A process that was forked from this one has no such thread.
        process: u32,
    },
    Stopped,
}

pub(crate) fn lock() -> MutexGuard<'static, Writer> {
    WRITER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Forgets the writer in a forked process: the thread is in the other process, and the channel to it may be locked.
pub(crate) fn forget(writer: &mut Writer) {
    if matches!(writer, Writer::Running { .. }) {
        std::mem::forget(std::mem::replace(writer, Writer::NotBegun));
    }
}

/// Stops the thread for good, once the app has received all messages or the time is over.
pub(crate) fn stop(patience: Duration) {
    let before = std::mem::replace(&mut *lock(), Writer::Stopped);
    if let Writer::Running {
        lines,
        ended,
        process,
    } = before
        && process == std::process::id()
    {
        drop(lines);
        let _ = ended.recv_timeout(patience);
    }
}

pub(crate) fn say(line: Said) {
    let mut writer = lock();
    let is_begun = match &*writer {
        Writer::Stopped => return,
        Writer::NotBegun => false,
        Writer::Running { process, .. } => *process == std::process::id(),
    };
    if !is_begun {
        *writer = begin();
    }
    if let Writer::Running { lines, .. } = &*writer
        && lines.try_send(line).is_err()
    {
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

fn begin() -> Writer {
    if LOG.get().is_none() && !trace::is_on() {
        return Writer::NotBegun;
    }
    let (lines, taken) = sync_channel::<Said>(WAITING);
    let (ends, ended) = sync_channel(0);
    let work = move || {
        let _ends: SyncSender<()> = ends;
        // The log may have been set after the tracer.
        let log = |level, message| {
            if let Some(log) = LOG.get() {
                // If the app's log fails, there is no one to report the failure to.
                let _ = log.log(level, message);
            }
        };
        for said in taken {
            match said {
                Said::Line(level, message) => log(level, message),
                Said::Span(span) => trace::deliver(*span),
            }
            let dropped = DROPPED.swap(0, Ordering::Relaxed);
            if dropped > 0 {
                let message = format!("the log did not keep up: {dropped} lines are left out here");
                log(LogLevel::Warn, message);
            }
        }
    };
    let begun = std::thread::Builder::new()
        .name("stepwell-log".to_owned())
        .spawn(work);
    match begun {
        Ok(_) => Writer::Running {
            lines,
            ended,
            process: std::process::id(),
        },
        Err(_) => Writer::NotBegun,
    }
}

/// Takes Stepwell's own events, and its spans if the app wants them, but none of the libraries below it.
struct ToApp;

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for ToApp {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        let is_line = metadata.is_event() && metadata.target() == "stepwell";
        (is_line && *metadata.level() <= Level::DEBUG) || trace::tells(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::DEBUG)
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let level = match *event.metadata().level() {
            Level::ERROR => LogLevel::Error,
            Level::WARN => LogLevel::Warn,
            Level::INFO => LogLevel::Info,
            _ => LogLevel::Debug,
        };
        let mut text = Text::default();
        event.record(&mut text);
        say(Said::Line(level, text.message + &text.fields));
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        trace::open(attributes, id, &context);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        trace::record(id, values, &context);
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        trace::close(&id, &context);
    }
}

/// An event's message, and its fields as ` name=value`.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Visit for Text {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a String cannot fail.
        let _ = match field.name() {
            // A field may have the message's name.
            "message" if self.message.is_empty() => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}
