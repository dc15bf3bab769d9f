//! Checks a stream of AG-UI events.

use super::encoding::Encoding;
use super::hints;
use serde::Serialize;
use stepwell_core::dialect::{Decode, DecodeError, Decoder, Dialect, HopIds, Sink};
use stepwell_core::event::{
    EventError, EventRef, ExtraRules, Severity, Verdict, Verification, Verifier, Violation,
};
use stepwell_core::transcript::{Applied, Transcript};
use stepwell_core::wire::FrameLimits;

#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) encoding: Encoding,
    /// The number of events; one JSON array of events counts as one.
    pub(super) events: u64,
    /// The number of them that AG-UI has.
    #[serde(skip)]
    pub(super) known: u64,
    pub(super) fatal: usize,
    pub(super) dropped: usize,
    pub(super) warned: usize,
    pub(super) findings: Vec<Finding>,
}

#[derive(Debug, Serialize)]
pub(super) struct Finding {
    /// `O1` to `O24`, `S1` to `S5`, or another kind of fault: `framing`, `json`, `protobuf`, `malformed`, `chunk`, `unusual`,
    /// `hint`.
    pub(super) rule: String,
    pub(super) severity: Severity,
    /// The number of the event, from 1; the end of the stream comes after the last event.
    pub(super) event: u64,
    pub(super) message: String,
    pub(super) advice: &'static str,
}

impl Finding {
    fn hint(event: u64, (message, advice): hints::Hint) -> Self {
        Self {
            rule: "hint".to_owned(),
            severity: Severity::Warned,
            event,
            message,
            advice,
        }
    }
}

/// The advice for a file that ends within a frame.
const CUT: &str = "record the whole body; if it was whole, the agent broke off";

/// Checks a stream by the rules, and looks for hints.
pub(super) fn check(body: &[u8], encoding: Encoding, verification: Verification) -> Report {
    let mut checker = Checker {
        verifier: Verifier::new(verification, ExtraRules::Warn),
        transcript: Transcript::default(),
        event: 0,
        events: 0,
        known: 0,
        findings: Vec::new(),
    };
    checker.read(body, encoding);
    let Checker {
        mut findings,
        events,
        known,
        ..
    } = checker;
    if encoding == Encoding::Sse {
        let hints = hints::of_blocks(body).into_iter();
        findings.extend(hints.map(|(event, hint)| Finding::hint(event, hint)));
        findings.sort_by_key(|finding| finding.event);
    }
    let count = |severity| {
        let findings = findings.iter();
        findings
            .filter(|finding| finding.severity == severity)
            .count()
    };
    Report {
        encoding,
        events,
        known,
        fatal: count(Severity::Fatal),
        dropped: count(Severity::Dropped),
        warned: count(Severity::Warned),
        findings,
    }
}

/// The state of a check.
struct Checker {
    verifier: Verifier,
    transcript: Transcript,
    /// The number of the current event, or of the end of the stream.
    event: u64,
    events: u64,
    known: u64,
    findings: Vec<Finding>,
}

impl Checker {
    /// Reads the stream to its end, or to where it cannot be read any further.
    fn read(&mut self, body: &[u8], encoding: Encoding) {
        let (dialect, media_type) = (Dialect::AgUi, encoding.media_type());
        let mut framer = dialect.framer_of(media_type, FrameLimits::default());
        let mut decoder = Decoder::of_media_type(dialect, media_type, HopIds::default());
        let received = framer.receive(body, |frame| {
            self.event += 1;
            decoder.frame(frame, self)
        });
        let is_cut = framer.is_cut();
        let ended = received.map(|()| {
            framer.finish(|frame| {
                self.event += 1;
                decoder.frame(frame, self)
            })
        });
        self.events = self.event;
        match ended {
            Ok(Err(error @ DecodeError::Json { .. })) => {
                // The rest of an event that was cut off.
                self.broken(&error, Severity::Warned);
                self.end();
            }
            Err(error) | Ok(Err(error)) => self.broken(&error, Severity::Fatal),
            Ok(Ok(())) if is_cut => {
                let message = "the file ends within a frame, whose rest is lost";
                self.find("framing", Severity::Fatal, message, CUT);
            }
            Ok(Ok(())) => self.end(),
        }
    }

    fn find(
        &mut self,
        rule: &str,
        severity: Severity,
        message: impl Into<String>,
        advice: &'static str,
    ) {
        self.findings.push(Finding {
            rule: rule.to_owned(),
            severity,
            event: self.event,
            message: message.into(),
            advice,
        });
    }

    /// Adds why the stream cannot be read any further.
    fn broken(&mut self, error: &DecodeError, severity: Severity) {
        let (rule, advice) = match error {
            DecodeError::Order(Violation { rule, message }) => {
                return self.find(&rule.to_string(), severity, message, rule.advice());
            }
            DecodeError::Wire(_) => (
                "framing",
                "send events of less than 64 MiB, in the form that the content type names",
            ),
            DecodeError::Json { .. } => ("json", "send one JSON object for each event"),
            DecodeError::Protobuf(_) => (
                "protobuf",
                "send each event as the protobuf message that AG-UI 1.0 has for it",
            ),
            DecodeError::Event(EventError::Chunk { .. }) => (
                "chunk",
                "begin an item with its id (and a tool call with its name), and repeat later only what it began with",
            ),
            DecodeError::Event(_) => (
                "malformed",
                "give every field the type that AG-UI 1.0 has for it, and leave absent fields out",
            ),
            _ => ("malformed", "see the message"),
        };
        self.find(rule, severity, error.to_string(), advice);
    }

    /// Checks the end of the stream.
    fn end(&mut self) {
        self.event += 1;
        let mut findings = Vec::new();
        let end = self.verifier.end(&mut |finding| findings.push(finding));
        for finding in findings {
            let rule = finding.rule;
            self.find(
                &rule.to_string(),
                finding.severity,
                finding.message,
                rule.advice(),
            );
        }
        let violation = match end {
            Ok(end) => end.violation(),
            Err(violation) => Some(violation),
        };
        if let Some(Violation { rule, message }) = violation {
            self.find(&rule.to_string(), Severity::Fatal, message, rule.advice());
        }
    }
}

impl Sink for Checker {
    fn event(&mut self, event: EventRef<'_>) -> Result<(), Violation> {
        self.known += 1;
        let mut findings = Vec::new();
        let verdict = self
            .verifier
            .check(event, &mut |finding| findings.push(finding));
        for finding in findings {
            let rule = finding.rule;
            self.find(
                &rule.to_string(),
                finding.severity,
                finding.message,
                rule.advice(),
            );
        }
        if verdict? != Verdict::Take {
            return Ok(());
        }
        if let Applied::Ignored(reason) = self.transcript.apply(event) {
            let advice = "the event changes nothing; see whether it names what was sent before";
            let message = format!("{}: ignored {reason}", event.kind());
            self.find("unusual", Severity::Warned, message, advice);
        }
        if let EventRef::Whole(event) = event
            && let Some(hint) = hints::of_event(event, &self.transcript)
        {
            self.findings.push(Finding::hint(self.event, hint));
        }
        Ok(())
    }

    fn warning(&mut self, message: &str) {
        let advice = "clients of AG-UI 1.0 go on without it; send what 1.0 has";
        self.find("unusual", Severity::Warned, message, advice);
    }
}
