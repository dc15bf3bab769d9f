//! The metrics of the server, for Prometheus.

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry, Unit};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use stepwell_core::CallKey;
use stepwell_core::event::RunOutcome;
use stepwell_io::host::TurnObserver;
use stepwell_io::tool::ToolCallStatus;
use stepwell_io::turn::{Event, RunEvent, ToolCallUpdate};
use stepwell_serve::parts::{Observer, RunObserver};
use tokio::time::Instant;

/// The media type of [`Metrics::text`]: OpenMetrics 1.0,
/// <https://prometheus.io/docs/specs/om/open_metrics_spec/>.
pub(crate) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The label of all tools that are not the server's own: clients may invent any number of names.
const FOREIGN: &str = "of the client";

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct OutcomeLabel {
    outcome: &'static str,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct CodeLabel {
    code: String,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct ToolLabels {
    tool: String,
    status: &'static str,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct ToolLabel {
    tool: String,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct DirectionLabel {
    direction: &'static str,
}

/// The server's metrics. Clones share them.
#[derive(Clone)]
pub(crate) struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    /// The tools that the metrics name.
    tools: HashSet<String>,
    started: Counter,
    active: Gauge,
    completed: Family<OutcomeLabel, Counter>,
    errors: Family<CodeLabel, Counter>,
    duration: Histogram,
    hops: Counter,
    retries: Counter,
    tokens: Family<DirectionLabel, Counter>,
    cost: Counter<f64, AtomicU64>,
    tool_calls: Family<ToolLabels, Counter>,
    tool_duration: Family<ToolLabel, Histogram>,
    continuation_duration: Histogram,
    persist_duration: Histogram,
    persist_errors: Counter,
    message_builder_duration: Histogram,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// Creates metrics and registers each.
struct Registration(Registry);

impl Registration {
    fn counts<M: Metric + Clone + Default>(&mut self, name: &str, help: &str) -> M {
        let metric = M::default();
        self.0.register(name, help, metric.clone());
        metric
    }

    fn dollars(&mut self, name: &str, help: &str) -> Counter<f64, AtomicU64> {
        let unit = Unit::Other("us_dollars".to_owned());
        self.with_unit(name, help, unit, Counter::default())
    }

    fn seconds(&mut self, name: &str, help: &str) -> Histogram {
        self.with_unit(name, help, Unit::Seconds, seconds())
    }

    fn seconds_by(&mut self, name: &str, help: &str) -> Family<ToolLabel, Histogram> {
        let family = Family::new_with_constructor(seconds as fn() -> Histogram);
        self.with_unit(name, help, Unit::Seconds, family)
    }

    fn with_unit<M: Metric + Clone>(&mut self, name: &str, help: &str, unit: Unit, metric: M) -> M {
        self.0.register_with_unit(name, help, unit, metric.clone());
        metric
    }
}

/// Creates a histogram from a millisecond to some minutes.
fn seconds() -> Histogram {
    Histogram::new([
        0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
    ])
}

impl Metrics {
    /// Creates and registers all metrics; `tools` are the server's own.
    pub(crate) fn new(tools: impl IntoIterator<Item = String>) -> Self {
        let mut made = Registration(Registry::with_prefix("stepwell"));
        let inner = Inner {
            tools: tools.into_iter().collect(),
            started: made.counts("runs_started", "Runs that began"),
            active: made.counts("runs_active", "Runs under way"),
            completed: made.counts("runs_completed", "Runs that are over, by how they ended"),
            errors: made.counts(
                "run_errors",
                "Runs that failed, by the code that the client was told",
            ),
            duration: made.seconds("run_duration", "How long runs took"),
            hops: made.counts("hops", "Streams from the model"),
            retries: made.counts(
                "retries",
                "Requests to the model that failed and were tried again",
            ),
            tokens: made.counts(
                "tokens",
                "Tokens that the model read and wrote, as it counts them",
            ),
            cost: made.dollars("cost", "What the model's answers cost, where that is known"),
            tool_calls: made.counts("tool_calls", "Tool calls that are over, by how they ended"),
            tool_duration: made.seconds_by("tool_duration", "How long tools ran"),
            continuation_duration: made.seconds(
                "continuation_duration",
                "From the last result of a round of tools to the first that the model says with them",
            ),
            persist_duration: made.seconds(
                "persist_duration",
                "How long writes of turns to the store took",
            ),
            persist_errors: made.counts(
                "persist_errors",
                "Writes of turns to the store that failed",
            ),
            message_builder_duration: made.seconds(
                "message_builder_duration",
                "How long stored turns took to become messages",
            ),
            registry: made.0,
        };
        Self(Arc::new(inner))
    }

    /// Returns all metrics as text.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        if let Err(error) = text::encode(&mut out, &self.0.registry) {
            tracing::error!(target: "stepwell", %error, "the metrics cannot be written");
        }
        out
    }

    /// Counts a run that begins.
    fn run(&self) -> RunMeter {
        self.0.started.inc();
        self.0.active.inc();
        RunMeter {
            metrics: self.clone(),
            begin: Instant::now(),
        }
    }

    /// Returns a meter for one turn.
    pub(crate) fn turn(&self) -> TurnMeter {
        TurnMeter {
            metrics: self.clone(),
            running: HashMap::new(),
            settled: None,
        }
    }

    /// Counts a write to the store.
    pub(crate) fn persist(&self, took: Duration, is_done: bool) {
        self.0.persist_duration.observe(took.as_secs_f64());
        if !is_done {
            self.0.persist_errors.inc();
        }
    }

    fn tool_name(&self, name: &str) -> String {
        let known = self.0.tools.contains(name);
        if known { name } else { FOREIGN }.to_owned()
    }
}

/// Counts one run until it is dropped.
#[derive(Debug)]
struct RunMeter {
    metrics: Metrics,
    begin: Instant,
}

impl Observer for Metrics {
    fn begun(&self) -> Box<dyn RunObserver> {
        Box::new(self.run())
    }
}

impl RunObserver for RunMeter {
    fn ended(self: Box<Self>, event: &Event) {
        let inner = &self.metrics.0;
        let outcome = match event {
            Event::RunFinished(finished) => match &finished.outcome {
                None | Some(RunOutcome::Success { .. }) => "success",
                Some(RunOutcome::Interrupt { .. }) => "interrupt",
                Some(RunOutcome::Cancelled) => "cancelled",
            },
            Event::RunError(error) => {
                let code = error.code.clone().unwrap_or_default();
                inner.errors.get_or_create(&CodeLabel { code }).inc();
                "error"
            }
            _ => "other",
        };
        inner
            .completed
            .get_or_create(&OutcomeLabel { outcome })
            .inc();
        let usage = match event {
            Event::RunFinished(finished) => finished.usage.as_deref(),
            Event::RunError(error) => error.usage.as_deref(),
            _ => None,
        };
        for usage in usage.into_iter().flatten() {
            for (direction, tokens) in [
                ("input", usage.input_tokens),
                ("output", usage.output_tokens),
            ] {
                let counter = inner.tokens.get_or_create(&DirectionLabel { direction });
                counter.inc_by(tokens.unwrap_or(0));
            }
            if let Some(cost) = usage.cost {
                inner.cost.inc_by(cost.dollars());
            }
        }
        inner.duration.observe(self.begin.elapsed().as_secs_f64());
    }
}

impl Drop for RunMeter {
    fn drop(&mut self) {
        self.metrics.0.active.dec();
    }
}

/// Counts what happens in one turn.
#[derive(Debug)]
pub(crate) struct TurnMeter {
    metrics: Metrics,
    /// The start of each running tool.
    running: HashMap<CallKey, Instant>,
    /// The time of the last result, until the model continues.
    settled: Option<Instant>,
}

impl TurnMeter {
    fn call(&mut self, update: &ToolCallUpdate) {
        let inner = &self.metrics.0;
        if update.status == ToolCallStatus::Executing {
            self.running.insert(update.call, Instant::now());
        }
        if !update.status.is_final() {
            return;
        }
        self.settled = Some(Instant::now());
        let tool = self.metrics.tool_name(&update.name);
        if let Some(begin) = self.running.remove(&update.call) {
            let took: Duration = begin.elapsed();
            let label = ToolLabel { tool: tool.clone() };
            inner
                .tool_duration
                .get_or_create(&label)
                .observe(took.as_secs_f64());
        }
        let status = match update.status {
            ToolCallStatus::Completed => "completed",
            ToolCallStatus::Denied => "denied",
            ToolCallStatus::Cancelled => "cancelled",
            _ => "failed",
        };
        inner
            .tool_calls
            .get_or_create(&ToolLabels { tool, status })
            .inc();
    }
}

impl TurnObserver for TurnMeter {
    fn history_built(&mut self, took: Duration) {
        let inner = &self.metrics.0;
        inner.message_builder_duration.observe(took.as_secs_f64());
    }

    fn event(&mut self, event: &RunEvent) {
        let inner = &self.metrics.0;
        match event {
            RunEvent::Started { .. } | RunEvent::HopStarted { .. } => {
                inner.hops.inc();
            }
            RunEvent::Retrying { .. } => {
                inner.retries.inc();
            }
            RunEvent::ToolCallUpdate(update) => self.call(update),
            RunEvent::AgUi(_) => {
                if let Some(settled) = self.settled.take() {
                    inner
                        .continuation_duration
                        .observe(settled.elapsed().as_secs_f64());
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepwell_core::event::RunError;

    fn update(name: &str, status: ToolCallStatus) -> RunEvent {
        RunEvent::ToolCallUpdate(ToolCallUpdate {
            call: CallKey { hop: 0, index: 0 },
            tool_call_id: "c".into(),
            name: name.to_owned(),
            status,
            result: None,
        })
    }

    #[tokio::test(start_paused = true)]
    async fn turn_is_counted_and_timed() {
        let metrics = Metrics::new(["clock".to_owned()]);
        let run = metrics.begun();
        let mut turn = metrics.turn();
        turn.event(&RunEvent::Started {
            thread_id: "t".into(),
            run_id: "r".into(),
        });
        turn.event(&update("clock", ToolCallStatus::Executing));
        tokio::time::advance(Duration::from_secs(2)).await;
        turn.event(&update("clock", ToolCallStatus::Completed));
        turn.event(&update("invented by a client", ToolCallStatus::Failed));
        assert!(metrics.text().contains("stepwell_runs_active 1"));
        run.ended(&Event::from(RunError {
            code: Some("model_error".to_owned()),
            ..RunError::default()
        }));
        let text = metrics.text();
        for line in [
            "stepwell_runs_started_total 1",
            "stepwell_runs_active 0",
            "stepwell_runs_completed_total{outcome=\"error\"} 1",
            "stepwell_run_errors_total{code=\"model_error\"} 1",
            "stepwell_run_duration_seconds_sum 2.0",
            "stepwell_hops_total 1",
            "stepwell_tool_calls_total{tool=\"clock\",status=\"completed\"} 1",
            "stepwell_tool_calls_total{tool=\"of the client\",status=\"failed\"} 1",
            "stepwell_tool_duration_seconds_sum{tool=\"clock\"} 2.0",
            "stepwell_tool_duration_seconds_count{tool=\"clock\"} 1",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is not in:\n{text}");
        }
        assert!(text.ends_with("# EOF\n"));
    }
}
