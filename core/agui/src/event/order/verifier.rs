//! The handling of events that break the order. [`Order`] itself only distinguishes valid from invalid.

use super::{End, Order, Phase, Rule, Violation};
use crate::event::{
    Event, EventRef, Interrupt, RunFinished, RunOutcome, RunStarted, ToolCallStart,
};
use crate::{RunId, ThreadId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The strictness of the order check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum Verification {
    /// Strict, as in the protocol: every breach ends the stream.
    #[default]
    Protocol,
    /// Lenient: an event that breaks a rule is dropped, or accepted where that is harmless, and the run continues. A
    /// stream without an end is still not a success.
    Lenient,
}

/// The source of the events that a verifier checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Hold {
    /// A model's stream, whose events are created here. Two mistakes of a model affect only their own item: a delta of
    /// a tool call that is not open is dropped, and items that a finished run left open are closed (its calls fail, and
    /// the model is informed).
    #[default]
    Translated,
    /// An agent's stream.
    Protocol,
    /// An agent's stream, checked leniently.
    Lenient,
}

impl From<Verification> for Hold {
    fn from(verification: Verification) -> Self {
        match verification {
            Verification::Protocol => Self::Protocol,
            Verification::Lenient => Self::Lenient,
        }
    }
}

/// The handling of breaches of rules that are in the protocol's text but that the reference client does not check
/// ([`Rule::S1`] to [`Rule::S5`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum ExtraRules {
    /// The rules are not checked.
    Off,
    /// A breach is reported, and the event is accepted.
    #[default]
    Warn,
    /// A breach ends the stream.
    Fatal,
}

/// The effect of a broken rule on the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Severity {
    /// The event is accepted.
    Warned,
    /// The event is dropped.
    Dropped,
    /// The stream ends.
    Fatal,
}

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// The effect on the stream.
    pub severity: Severity,
    /// The number of the event, from 1, with chunks counted as the events that they stand for. For the end of the
    /// stream it is the number of events plus one.
    pub event: u64,
    /// The description of the violation, with the ids, and what the agent should have sent.
    pub message: String,
}

impl Finding {
    /// Returns the finding as one line that names the frame it is in.
    #[must_use]
    pub fn in_frame(&self, frame: u64) -> String {
        let Self { rule, message, .. } = self;
        let what = match self.severity {
            Severity::Dropped => "; the event was dropped",
            _ => "",
        };
        format!("frame {frame}: {rule}: {message}{what}")
    }
}

/// The decision about an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// The event is accepted.
    Take,
    /// The event is dropped.
    Drop,
}

/// Checks the events of a stream against [`Order`], with a configurable strictness.
///
/// Plain data: a snapshot in mid-stream is its serde.
///
/// ```
/// use stepwell_agui::event::{Event, ExtraRules, Rule, Severity, Verdict, Verification, Verifier};
///
/// let mut verifier = Verifier::new(Verification::Lenient, ExtraRules::Warn);
/// let mut findings = Vec::new();
/// for json in [
///     r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
///     r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"nobody","delta":"Hi"}"#,
/// ] {
///     let event: Event = serde_json::from_str(json)?;
///     let _ = verifier.check((&event).into(), &mut |finding| findings.push(finding));
/// }
/// let [finding] = &findings[..] else { panic!("one finding") };
/// assert_eq!((finding.rule, finding.severity), (Rule::O7, Severity::Dropped));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verifier {
    #[serde(flatten)]
    order: Order,
    #[serde(default, rename = "verification", skip_serializing_if = "is_default")]
    hold: Hold,
    #[serde(default = "off", skip_serializing_if = "is_off")]
    extra_rules: ExtraRules,
    #[serde(default, skip_serializing_if = "is_default")]
    events: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    seen: Seen,
}

/// The state for the extra rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Seen {
    /// The ids that were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    requested: Option<(ThreadId, RunId)>,
    /// The ids of the run that is going on.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<(ThreadId, RunId)>,
    /// Whether the requested run has begun.
    has_requested: bool,
    /// The run's calls: the names and parents that they began with.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    calls: BTreeMap<String, (String, Option<String>)>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn off() -> ExtraRules {
    ExtraRules::Off
}

fn is_off(rules: &ExtraRules) -> bool {
    *rules == ExtraRules::Off
}

impl Verifier {
    /// Creates a verifier for a new stream.
    #[must_use]
    pub fn new(verification: Verification, extra_rules: ExtraRules) -> Self {
        Self {
            hold: verification.into(),
            extra_rules,
            ..Self::default()
        }
    }

    /// Creates a verifier for events that a decoder builds from a model's stream. Two mistakes of a model do not end
    /// the stream: a delta of a tool call that is not open is dropped, and what a finished run left open is closed.
    #[doc(hidden)]
    #[must_use]
    pub fn of_translation() -> Self {
        Self {
            hold: Hold::Translated,
            extra_rules: ExtraRules::Off,
            ..Self::default()
        }
    }

    /// Sets the ids of the request that the stream answers.
    #[must_use]
    pub fn requested(mut self, thread_id: ThreadId, run_id: RunId) -> Self {
        self.seen.requested = Some((thread_id, run_id));
        self
    }

    /// Returns the order check's state.
    #[must_use]
    #[inline]
    pub fn order(&self) -> &Order {
        &self.order
    }

    /// Checks one event and records it. Findings that do not end the stream are passed to `found`.
    ///
    /// # Errors
    /// The event is not allowed here, and ends the stream.
    #[inline]
    pub fn check(
        &mut self,
        event: EventRef<'_>,
        found: &mut dyn FnMut(Finding),
    ) -> Result<Verdict, Violation> {
        self.events += 1;
        if let Err(violation) = self.order.check(event) {
            return self.judge(event, violation, found);
        }
        match event {
            EventRef::Whole(event) if self.extra_rules != ExtraRules::Off => {
                self.check_extra(event, found)?;
            }
            _ => {}
        }
        Ok(Verdict::Take)
    }

    /// Checks the end of the stream.
    ///
    /// # Errors
    /// The stream violates an extra rule that is fatal. A missing end is not an error here: see [`End::Truncated`].
    pub fn end(&mut self, found: &mut dyn FnMut(Finding)) -> Result<End, Violation> {
        self.events += 1;
        let end = self.order.end();
        if self.extra_rules != ExtraRules::Off
            && end == End::Finished
            && !self.seen.has_requested
            && let Some((_, run)) = &self.seen.requested
        {
            let message = format!(
                "the stream has no run '{run}', which was asked for; RUN_STARTED repeats the request's runId"
            );
            self.breach(Rule::S5, message, found)?;
        }
        Ok(end)
    }

    #[cold]
    fn judge(
        &mut self,
        event: EventRef<'_>,
        violation: Violation,
        found: &mut dyn FnMut(Finding),
    ) -> Result<Verdict, Violation> {
        let severity = self.severity(event, violation.rule);
        if severity == Severity::Fatal {
            return Err(violation);
        }
        let rule = violation.rule;
        found(Finding {
            rule,
            severity,
            event: self.events,
            message: violation.message,
        });
        if severity == Severity::Dropped {
            return Ok(Verdict::Drop);
        }
        // Supplies whatever the event lacks to be accepted.
        match rule {
            Rule::O4 => self.order.abandon_open_items(),
            Rule::O1 => self.order.begin_unannounced(),
            _ => return Ok(Verdict::Take),
        }
        let verdict = match self.order.check(event) {
            Ok(()) => Verdict::Take,
            Err(violation) => self.judge(event, violation, found)?,
        };
        if rule == Rule::O1 && verdict == Verdict::Drop {
            // A dropped event does not begin a run.
            self.order = Order::default();
        }
        Ok(verdict)
    }

    fn severity(&self, event: EventRef<'_>, rule: Rule) -> Severity {
        let is_end = matches!(event, EventRef::Whole(Event::RunFinished(_)));
        let leaves_open = rule == Rule::O4 && self.order.phase() == Phase::Active;
        let is_piece_of_call = match event {
            EventRef::ToolCallArgs { .. } => true,
            EventRef::Whole(event) => {
                matches!(event, Event::ToolCallArgs(_) | Event::ToolCallEnd(_))
            }
            _ => false,
        };
        match (self.hold, rule) {
            (Hold::Protocol, _) => Severity::Fatal,
            (_, Rule::O4) if leaves_open => Severity::Warned,
            (_, Rule::O9) if is_piece_of_call => Severity::Dropped,
            (Hold::Translated, _) => Severity::Fatal,
            // A run that was not announced has begun all the same, but an end alone is not a run.
            (Hold::Lenient, Rule::O1) if !is_end => Severity::Warned,
            // These are only shown: nothing is built on them.
            (
                Hold::Lenient,
                Rule::O11 | Rule::O12 | Rule::O13 | Rule::O14 | Rule::O20 | Rule::O21,
            ) => Severity::Warned,
            (Hold::Lenient, _) => Severity::Dropped,
        }
    }

    fn check_extra(
        &mut self,
        event: &Event,
        found: &mut dyn FnMut(Finding),
    ) -> Result<(), Violation> {
        match event {
            Event::RunStarted(start) => self.run_started(start, found),
            Event::RunFinished(finish) => self.run_finished(finish, found),
            Event::ToolCallStart(start) => self.call_started(start, found),
            _ => Ok(()),
        }
    }

    fn run_started(
        &mut self,
        event: &RunStarted,
        found: &mut dyn FnMut(Finding),
    ) -> Result<(), Violation> {
        let before = self.seen.run.take();
        let requested = self.seen.requested.as_ref();
        let expected = requested.or(before.as_ref()).map(|(thread, _)| thread);
        let other = expected.filter(|thread| **thread != event.thread_id);
        let message = other.map(|thread| {
            format!(
                "RUN_STARTED is of thread '{}', the stream of thread '{thread}'; every run of a stream has the thread of \
                 the request",
                event.thread_id
            )
        });
        self.seen.has_requested |= requested.is_some_and(|(_, run)| *run == event.run_id);
        self.seen.run = Some((event.thread_id.clone(), event.run_id.clone()));
        self.seen.calls.clear();
        message.map_or(Ok(()), |message| self.breach(Rule::S2, message, found))
    }

    fn run_finished(
        &mut self,
        event: &RunFinished,
        found: &mut dyn FnMut(Finding),
    ) -> Result<(), Violation> {
        if let Some((thread, run)) = &self.seen.run
            && (*thread != event.thread_id || *run != event.run_id)
        {
            let message = format!(
                "RUN_FINISHED is of run '{}' of thread '{}', but run '{run}' of thread '{thread}' is going on; repeat its \
                 ids",
                event.run_id, event.thread_id
            );
            self.breach(Rule::S1, message, found)?;
        }
        let Some(RunOutcome::Interrupt { interrupts }) = &event.outcome else {
            return Ok(());
        };
        let Some(Interrupt { id, .. }) = repeated(interrupts) else {
            return Ok(());
        };
        let message =
            format!("RUN_FINISHED has two interrupts '{id}'; an answer names one by its id");
        self.breach(Rule::S3, message, found)
    }

    fn call_started(
        &mut self,
        event: &ToolCallStart,
        found: &mut dyn FnMut(Finding),
    ) -> Result<(), Violation> {
        let id = event.tool_call_id.as_str();
        let parent = event.parent_message_id.as_deref();
        let Some((name, known_parent)) = self.seen.calls.get(id) else {
            let opening = (event.tool_call_name.clone(), parent.map(str::to_owned));
            self.seen.calls.insert(id.to_owned(), opening);
            return Ok(());
        };
        let field = if *name != event.tool_call_name {
            "toolCallName"
        } else if known_parent.as_deref() != parent {
            "parentMessageId"
        } else {
            return Ok(());
        };
        let message = format!(
            "TOOL_CALL_START opens the tool call '{id}' again with another {field}; a call that goes on repeats what it \
             began with"
        );
        self.breach(Rule::S4, message, found)
    }

    fn breach(
        &self,
        rule: Rule,
        message: String,
        found: &mut dyn FnMut(Finding),
    ) -> Result<(), Violation> {
        if self.extra_rules == ExtraRules::Fatal {
            return Err(Violation::new(rule, message));
        }
        found(Finding {
            rule,
            severity: Severity::Warned,
            event: self.events,
            message,
        });
        Ok(())
    }
}

fn repeated(interrupts: &[Interrupt]) -> Option<&Interrupt> {
    let mut ids = BTreeSet::new();
    interrupts
        .iter()
        .find(|interrupt| !ids.insert(interrupt.id.as_str()))
}
