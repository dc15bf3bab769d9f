use crate::commands::recording::Recording;
use clap::Args;
use serde::Serialize;
use std::borrow::Cow;
use std::hint::black_box;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stepwell_core::Timestamp;
use stepwell_core::event::Message;
use stepwell_core::run::{
    Effect, EffectId, Input, Outcome, Output, RunConfig, RunEvent, RunMachine, Start,
};
use stepwell_core::transcript::Transcript;
use stepwell_demo::Failure;
use stepwell_demo::Format;

/// Measures how fast a recorded stream becomes a conversation.
///
/// The stream passes through the run machine as in a host, which takes every event. The times do not include reading the
/// file.
#[derive(Args, Debug)]
pub(crate) struct Bench {
    #[command(flatten)]
    format: Format,
    /// Feeds the machine this many bytes at a time.
    #[arg(long, value_name = "BYTES", default_value = "16384")]
    chunk: NonZeroUsize,
    /// The number of times that the stream is decoded.
    #[arg(long, value_name = "N", default_value = "10")]
    iters: NonZeroUsize,
    /// Prints the figures as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    recording: Recording,
}

/// The figures.
#[derive(Debug, Serialize)]
struct Figures {
    /// The time of each decoding, in milliseconds.
    times_ms: Vec<f64>,
    /// The median time to the first event, in milliseconds.
    ttfe_ms: f64,
    /// Bytes of text at the end.
    text: usize,
    /// Bytes of tool arguments at the end.
    args: usize,
    /// The peak memory of the process in MiB, where the system reports it.
    hwm_mb: Option<f64>,
}

/// One decoding.
struct Decoded {
    time: Duration,
    first_event: Duration,
    text: usize,
    args: usize,
}

impl Bench {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let (provider, api) = self.format.find()?;
        let endpoint = provider
            .endpoint(Some(&api.name), "model", Some("http://localhost"), None)
            .map_err(Failure::usage)?;
        let mut config = RunConfig::new(endpoint);
        // The calls that the stream asks for are counted, not answered.
        config.limits.max_tool_rounds = 0;
        let config = Arc::new(config);
        let bytes = self.recording.read()?;

        let mut times = Vec::new();
        let mut first_events = Vec::new();
        let (mut text, mut args) = (0, 0);
        for _ in 0..self.iters.get() {
            let decoded = decode(&config, &bytes, self.chunk.get())?;
            times.push(millis(decoded.time));
            first_events.push(millis(decoded.first_event));
            (text, args) = (decoded.text, decoded.args);
        }
        let figures = Figures {
            times_ms: times,
            ttfe_ms: median(&first_events),
            text,
            args,
            hwm_mb: high_water_mark(),
        };
        let mut out = io::stdout().lock();
        if self.json {
            serde_json::to_writer(&mut out, &figures).map_err(io::Error::from)?;
            return Ok(writeln!(out)?);
        }
        let middle = median(&figures.times_ms);
        let megabytes = bytes.len() as f64 / 1e6;
        write!(
            out,
            "{middle:.3} ms (median of {}), {:.0} MB/s, first event after {:.3} ms, {text} bytes of text, {args} of \
             arguments",
            self.iters,
            megabytes / (middle / 1e3),
            figures.ttfe_ms,
        )?;
        if let Some(most) = figures.hwm_mb {
            write!(out, ", {most:.1} MiB at most")?;
        }
        Ok(writeln!(out)?)
    }
}

fn decode(config: &Arc<RunConfig>, bytes: &[u8], chunk: usize) -> Result<Decoded, Failure> {
    let now = Timestamp(0);
    let mut machine = RunMachine::new(Arc::clone(config), "bench".into(), Transcript::default());
    machine
        .start(Start::new("run", Message::user("question", "?")), now)
        .map_err(Failure::failed)?;
    let effect = stream_of(&mut machine)
        .ok_or_else(|| Failure::failed("the machine did not ask for a stream"))?;

    let start = Instant::now();
    let mut first_event = None;
    let content_type = None;
    feed(
        &mut machine,
        Input::Opened {
            effect,
            content_type,
        },
        now,
    )?;
    for chunk in bytes.chunks(chunk) {
        let bytes = Cow::Borrowed(chunk);
        let events = feed(&mut machine, Input::Received { effect, bytes }, now)?;
        if events > 0 && first_event.is_none() {
            first_event = Some(start.elapsed());
        }
        if machine.outcome().is_some() {
            break;
        }
    }
    if machine.outcome().is_none() {
        feed(&mut machine, Input::Ended { effect }, now)?;
    }
    let time = start.elapsed();

    match machine.outcome() {
        Some(Outcome::Success | Outcome::Incomplete { .. } | Outcome::LimitReached { .. }) => {}
        // An agent that asks the user has ended its stream.
        None if !machine.interrupts().is_empty() => {}
        Some(Outcome::Failed { failure }) => return Err(Failure::failed(failure)),
        _ => return Err(Failure::failed("the stream ended before the answer did")),
    }
    let transcript = machine.transcript();
    Ok(Decoded {
        time,
        first_event: first_event.unwrap_or(time),
        text: transcript.text().len(),
        args: transcript
            .tool_calls()
            .map(|call| call.function.arguments.len())
            .sum(),
    })
}

/// Takes the outputs of a starting turn, and returns the stream that it asks for.
fn stream_of(machine: &mut RunMachine) -> Option<EffectId> {
    std::iter::from_fn(|| machine.poll_output())
        .filter_map(|output| match output {
            Output::Effect(id, Effect::OpenStream { .. }) => Some(id),
            _ => None,
        })
        .last()
}

/// Feeds one input, takes all outputs, and returns the number of AG-UI events among them.
fn feed(machine: &mut RunMachine, input: Input<'_>, now: Timestamp) -> Result<usize, Failure> {
    machine.handle(input, now).map_err(Failure::failed)?;
    let mut events = 0;
    while let Some(output) = machine.poll_output() {
        if let Output::Event(RunEvent::AgUi(_)) = black_box(&output) {
            events += 1;
        }
    }
    Ok(events)
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        len if len % 2 == 1 => sorted[len / 2],
        len => f64::midpoint(sorted[len / 2 - 1], sorted[len / 2]),
    }
}

/// Returns the peak memory of the process in MiB: `VmHWM` of Linux (proc(5)).
fn high_water_mark() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn median_is_the_middle() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < f64::EPSILON);
        assert!(median(&[]).abs() < f64::EPSILON);
    }
}
