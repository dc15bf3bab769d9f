mod encoding;
mod hints;
mod no_stream;

pub(super) use encoding::Encoding;

use crate::input::Recording;
use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use std::io::{self, Write};
use stepwell_core::conversation::{Applied, Conversation};
use stepwell_core::dialect::{Decode, DecodeError, Decoder, Dialect, HopIds, Sink};
use stepwell_core::event::{
    EventError, EventRef, ExtraRules, Rule, Severity, Verdict, Verification, Verifier, Violation,
};
use stepwell_core::wire::FrameLimits;
use stepwell_demo::{Failure, one_line};

/// Tools for AG-UI streams.
#[derive(Args, Debug)]
pub(crate) struct Agui {
    #[command(subcommand)]
    command: AguiCommand,
}

#[derive(Debug, Subcommand)]
enum AguiCommand {
    /// Says where a recorded stream breaks the protocol.
    Check(Check),
}

impl Agui {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match &self.command {
            AguiCommand::Check(check) => check.run(),
        }
    }
}

/// Says where a recorded stream of AG-UI events breaks the protocol: by the rules O1 to O24 about the order of events, by
/// five more that only the protocol's text has (S1 to S5), and by what an event must look like. What the protocol allows,
/// and is a mistake all the same, is a hint: a block of server-sent events without data, a tool call whose arguments are no
/// JSON, a result of a call that nothing asked for.
///
/// A breach is fatal, costs its event (dropped), or is said (warned). Ends with code 1 where something is fatal, and with
/// code 2 where the file is no AG-UI stream: it is empty, binary, or has something else in it.
#[derive(Args, Debug)]
struct Check {
    /// Goes on after what is wrong: such an event is dropped, or taken where that is harmless.
    #[arg(long)]
    lenient: bool,
    /// How the findings are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// How the events stand in the file; found out if not given.
    #[arg(long, value_enum)]
    encoding: Option<Encoding>,
    #[command(flatten)]
    recording: Recording,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Format {
    /// A line a finding, and its advice.
    #[default]
    Text,
    /// One JSON object.
    Json,
}

#[derive(Debug, Serialize)]
struct Report {
    encoding: Encoding,
    /// How many events there are; one JSON array of events counts as one.
    events: u64,
    fatal: usize,
    dropped: usize,
    warned: usize,
    findings: Vec<Finding>,
}

#[derive(Debug, Serialize)]
struct Finding {
    /// `O1` to `O24`, `S1` to `S5`; or what else is wrong: `framing`, `json`, `protobuf`, `malformed`, `chunk`, `unusual`,
    /// `hint`.
    rule: String,
    severity: Severity,
    /// The event, from 1; one more than there are for the end of the stream.
    event: u64,
    message: String,
    advice: &'static str,
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

impl Check {
    fn run(&self) -> Result<(), Failure> {
        let body = self.recording.read()?;
        let encoding = self.encoding.unwrap_or_else(|| Encoding::of(&body));
        let verification = if self.lenient {
            Verification::Lenient
        } else {
            Verification::Protocol
        };
        let (report, known) = check(&body, encoding, verification);
        if known == 0
            && let Some(reason) = no_stream::reason(&body, encoding, self.encoding.is_some())
        {
            let name = self.recording.name();
            return Err(Failure::usage(format!(
                "{name} is no AG-UI stream: {reason}"
            )));
        }
        let mut out = io::stdout().lock();
        match self.format {
            Format::Json => {
                serde_json::to_writer(&mut out, &report).map_err(io::Error::from)?;
                writeln!(out)?;
            }
            Format::Text => print(&report, &mut out)?,
        }
        let fatal = report
            .findings
            .iter()
            .find(|finding| finding.severity == Severity::Fatal);
        match fatal {
            None => Ok(()),
            Some(finding) => Err(Failure::failed(format!(
                "the stream breaks the protocol at event {}: {}",
                finding.event, finding.rule
            ))),
        }
    }
}

fn print(report: &Report, out: &mut impl Write) -> io::Result<()> {
    for finding in &report.findings {
        let severity = match finding.severity {
            Severity::Warned => "warned",
            Severity::Dropped => "dropped",
            Severity::Fatal => "fatal",
        };
        let Finding {
            event,
            rule,
            advice,
            ..
        } = finding;
        writeln!(
            out,
            "event {event}: {severity} {rule}: {}",
            one_line(&finding.message)
        )?;
        writeln!(out, "    {advice}")?;
    }
    writeln!(
        out,
        "{} events in {}: {} fatal, {} dropped, {} warned",
        report.events,
        report.encoding.name(),
        report.fatal,
        report.dropped,
        report.warned
    )
}

/// What is judged, and what was found.
struct Checker {
    verifier: Verifier,
    conversation: Conversation,
    event: u64,
    /// How many of them are events of AG-UI.
    known: u64,
    findings: Vec<Finding>,
}

/// What is found, and how many AG-UI events there are.
fn check(body: &[u8], encoding: Encoding, verification: Verification) -> (Report, u64) {
    let (dialect, media_type) = (Dialect::AgUi, encoding.media_type());
    let mut framer = dialect.framer_of(media_type, FrameLimits::default());
    let mut decoder = Decoder::of_media_type(dialect, media_type, HopIds::default());
    let mut checker = Checker {
        verifier: Verifier::new(verification, ExtraRules::Warn),
        conversation: Conversation::default(),
        event: 0,
        known: 0,
        findings: Vec::new(),
    };
    let received = framer.receive(body, |frame| {
        checker.event += 1;
        decoder.frame(frame, &mut checker)
    });
    let is_cut = framer.is_cut();
    let ended = received.map(|()| {
        framer.finish(|frame| {
            checker.event += 1;
            decoder.frame(frame, &mut checker)
        })
    });
    let events = checker.event;
    match ended {
        Err(error) => checker.broken(&error, Severity::Fatal),
        Ok(Err(error @ DecodeError::Json { .. })) => {
            // The rest of an event that was cut off.
            checker.broken(&error, Severity::Warned);
            checker.end();
        }
        Ok(Err(error)) => checker.broken(&error, Severity::Fatal),
        Ok(Ok(())) => {
            if is_cut {
                let message = "the file ends within a frame, whose rest is lost";
                checker.find("framing", Severity::Fatal, message, CUT);
            } else {
                checker.end();
            }
        }
    }
    let known = checker.known;
    let mut findings = checker.findings;
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
    let report = Report {
        encoding,
        events,
        fatal: count(Severity::Fatal),
        dropped: count(Severity::Dropped),
        warned: count(Severity::Warned),
        findings,
    };
    (report, known)
}

const CUT: &str = "record the whole body; if it was whole, the agent broke off";

impl Checker {
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

    /// The stream cannot be read any further.
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
            let rule: Rule = finding.rule;
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
        if let Applied::Ignored(reason) = self.conversation.apply(event) {
            let advice = "the event changes nothing; see whether it names what was sent before";
            let message = format!("{}: ignored {reason}", event.kind());
            self.find("unusual", Severity::Warned, message, advice);
        }
        if let EventRef::Whole(event) = event
            && let Some(hint) = hints::of_event(event, &self.conversation)
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
