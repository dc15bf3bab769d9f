use super::checker::{Report, check};
use super::encoding::Encoding;
use super::no_stream;
use crate::commands::recording::Recording;
use clap::{Args, ValueEnum};
use std::io::{self, Write};
use stepwell_core::event::{Severity, Verification};
use stepwell_demo::{Failure, one_line};

/// Says where a recorded stream of AG-UI events breaks the protocol: by the rules O1 to O24 about the order of events, by
/// five more that only the protocol's text has (S1 to S5), and by what an event must look like. What the protocol allows,
/// and is a mistake all the same, is a hint: a block of server-sent events without data, a tool call whose arguments are no
/// JSON, a result of a call that nothing asked for.
///
/// A breach is fatal, costs its event (dropped), or is said (warned). Ends with code 1 where something is fatal, and with
/// code 2 where the file is no AG-UI stream: it is empty, binary, or has something else in it.
#[derive(Args, Debug)]
pub(super) struct Check {
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

impl Check {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let body = self.recording.read()?;
        let encoding = self.encoding.unwrap_or_else(|| Encoding::of(&body));
        let verification = if self.lenient {
            Verification::Lenient
        } else {
            Verification::Protocol
        };
        let report = check(&body, encoding, verification);
        if report.known == 0
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
        let message = one_line(&finding.message);
        writeln!(
            out,
            "event {}: {severity} {}: {message}",
            finding.event, finding.rule
        )?;
        writeln!(out, "    {}", finding.advice)?;
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
