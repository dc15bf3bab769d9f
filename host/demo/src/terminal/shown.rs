use super::clean::{clean, revealed};
use super::{Call, Progress, Screen};
use crate::one_line;
use std::io;
use std::time::Duration;
use stepwell_core::MessageId;
use stepwell_core::event::{Event, TokenUsage};
use stepwell_core::run::{RunEvent, ToolCallUpdate, ToolProgress};
use stepwell_core::tool::ToolResult;
use stepwell_core::transcript::{Compaction, ToolCallStatus};

/// The maximum number of characters of a call's arguments, or of its result, that are shown.
const MAX_CHARS: usize = 160;

/// Shows the events of turns on a screen.
pub struct Shown {
    screen: Screen,
    /// The running calls of this turn.
    open: Vec<OpenCall>,
    calls: usize,
}

struct OpenCall {
    id: String,
    name: String,
    arguments: String,
    /// The last progress of its tool.
    note: String,
}

/// The numbers of a turn.
#[derive(Debug)]
pub struct Summary<'a> {
    /// The number of streams from the model.
    pub hops: u32,
    /// The tokens of all hops.
    pub usage: &'a TokenUsage,
    /// The time from its start to its end.
    pub time: Duration,
}

impl Shown {
    /// Shows turns on a screen.
    #[must_use]
    pub fn new(screen: Screen) -> Self {
        Self {
            screen,
            open: Vec::new(),
            calls: 0,
        }
    }

    /// Shows a question that the user did not type.
    pub fn question(&mut self, text: &str) -> io::Result<()> {
        self.screen.question(&clean(text))
    }

    /// Shows an event of the turn.
    pub fn event(&mut self, event: &RunEvent) -> io::Result<()> {
        match event {
            RunEvent::AgUi(event) => self.ag_ui(event),
            RunEvent::ToolCallUpdate(update) => self.call_update(update),
            RunEvent::ToolProgress(progress) => self.tool_progress(progress),
            RunEvent::Retrying {
                attempt,
                delay_ms,
                reason,
                ..
            } => {
                // The first attempt has the number 0.
                let attempt = attempt.saturating_add(1);
                let seconds = Duration::from_millis(*delay_ms).as_secs_f32();
                let reason = one_line(reason);
                self.screen
                    .retry(&format!("{reason}; attempt {attempt} in {seconds:.1} s"))
            }
            RunEvent::ModelChanged { model, reason, .. } => {
                let reason = reason
                    .as_deref()
                    .map(|reason| format!("{}; ", one_line(reason)));
                let reason = reason.unwrap_or_default();
                self.screen
                    .retry(&format!("{reason}{} is asked", model.model))
            }
            RunEvent::ContextTrimmed {
                left_out,
                compaction,
                ..
            } => self.screen.note(trimmed(left_out, compaction)),
            _ => Ok(()),
        }
    }

    /// Shows something that is not part of the answer.
    pub fn note(&mut self, text: &str) -> io::Result<()> {
        self.screen.note(&clean(text))
    }

    fn ag_ui(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::TextMessageContent(content) => self.screen.text(&clean(&content.delta)),
            Event::ReasoningMessageContent(content) => {
                self.screen.reasoning(&clean(&content.delta))
            }
            // The next text begins a line.
            Event::ReasoningMessageEnd(_) => self.screen.reasoning(""),
            Event::ToolCallStart(start) => {
                self.calls += 1;
                let call = OpenCall {
                    id: start.tool_call_id.to_string(),
                    name: start.tool_call_name.clone(),
                    arguments: String::new(),
                    note: String::new(),
                };
                self.screen.call(&call.shown(Progress::Running))?;
                self.open.push(call);
                Ok(())
            }
            Event::ToolCallArgs(args) => {
                let id = args.tool_call_id.as_str();
                let Some(call) = self.open.iter_mut().find(|call| call.id == id) else {
                    return Ok(());
                };
                let is_full = call.arguments.len() > 4 * MAX_CHARS;
                if !is_full {
                    call.arguments.push_str(&args.delta);
                    self.screen.call(&call.shown(Progress::Running))?;
                }
                Ok(())
            }
            // A tool that the backend ran.
            Event::ToolCallResult(result) => {
                let text = short(&result.content.to_text());
                self.close(&result.tool_call_id, Progress::Done(text))
            }
            _ => Ok(()),
        }
    }

    fn call_update(&mut self, update: &ToolCallUpdate) -> io::Result<()> {
        match (&update.result, update.status) {
            (Some(result), _) => self.close(&update.tool_call_id, outcome(result)),
            (None, ToolCallStatus::Cancelled) => self.close(
                &update.tool_call_id,
                Progress::Failed("cancelled".to_owned()),
            ),
            (None, _) => Ok(()),
        }
    }

    /// Shows the progress of a running tool in its line.
    fn tool_progress(&mut self, progress: &ToolProgress) -> io::Result<()> {
        let id = progress.tool_call_id.as_str();
        let Some(call) = self.open.iter_mut().find(|call| call.id == id) else {
            return Ok(());
        };
        let fraction = progress.fraction.unwrap_or_default();
        let percent = progress
            .fraction
            .map(|_| format!("{:.0} %", fraction * 100.0));
        let said = percent.into_iter().chain(progress.message.clone());
        call.note = said.collect::<Vec<_>>().join(" ");
        self.screen.call(&call.shown(Progress::Running))
    }

    fn close(&mut self, id: &str, progress: Progress) -> io::Result<()> {
        match self.open.iter().position(|call| call.id == id) {
            Some(place) => {
                let call = self.open.remove(place);
                self.screen.call(&call.shown(progress))
            }
            None => Ok(()),
        }
    }

    /// Shows that a call needs approval: with its complete arguments, and invisible characters escaped. Spinners stop, since
    /// the user types now.
    pub fn asks(&mut self, name: &str, arguments: &str) -> io::Result<()> {
        self.screen.pause()?;
        let (name, arguments) = (revealed(name), revealed(arguments));
        self.screen
            .remark(&format!("? {} {}", one_line(name), one_line(arguments)))
    }

    /// Shows the question of a running tool. Spinners stop, since the user types now.
    pub fn tool_asks(&mut self, name: &str, question: &str) -> io::Result<()> {
        self.screen.pause()?;
        let (name, question) = (revealed(name), revealed(question));
        self.screen
            .remark(&format!("? {}: {}", one_line(name), one_line(question)))
    }

    /// Shows that a call runs with these arguments, not with the model's.
    pub fn edited(&mut self, id: &str, arguments: &str) -> io::Result<()> {
        let Some(call) = self.open.iter_mut().find(|call| call.id == id) else {
            return Ok(());
        };
        arguments.clone_into(&mut call.arguments);
        self.screen.call(&call.shown(Progress::Running))
    }

    /// Shows the model's text of an earlier turn.
    pub fn said(&mut self, text: &str) -> io::Result<()> {
        self.screen.text(&clean(text))?;
        self.screen.end()
    }

    /// Shows a call of an earlier turn.
    pub fn done(&mut self, title: &str, is_done: bool, result: &str) -> io::Result<()> {
        let result = short(result);
        self.screen.call(&Call {
            id: String::new(),
            title: short(title),
            progress: if is_done {
                Progress::Done(result)
            } else {
                Progress::Failed(result)
            },
        })
    }

    /// Shows a line of the program's own.
    pub fn remark(&mut self, text: &str) -> io::Result<()> {
        self.screen.remark(&one_line(text))
    }

    /// Shows why the answer is incomplete.
    pub fn problem(&mut self, text: &str) -> io::Result<()> {
        self.screen.remark(&format!("✗ {}", one_line(text)))
    }

    /// Ends the turn.
    pub fn end(&mut self) -> io::Result<()> {
        self.open.clear();
        self.screen.end()
    }

    /// Shows the summary of a turn.
    pub fn summary(&mut self, summary: &Summary<'_>) -> io::Result<()> {
        let calls = std::mem::take(&mut self.calls);
        self.screen.remark(&format!(
            "{} · {} · {} · {:.1} s",
            count(u64::from(summary.hops), "hop"),
            count(calls as u64, "tool"),
            tokens(summary.usage),
            summary.time.as_secs_f32(),
        ))
    }
}

impl OpenCall {
    fn shown(&self, progress: Progress) -> Call {
        let note = match &progress {
            Progress::Running => short(&self.note),
            Progress::Done(_) | Progress::Failed(_) => String::new(),
        };
        Call {
            id: self.id.clone(),
            title: format!("{} {} {note}", short(&self.name), short(&self.arguments))
                .trim_end()
                .to_owned(),
            progress,
        }
    }
}

/// Returns what the model is sent of the conversation from here on.
fn trimmed(left_out: &[MessageId], compaction: &Compaction) -> &'static str {
    match compaction {
        Compaction {
            results_through: Some(_),
            ..
        } if left_out.is_empty() => "old results of tools are left out from here on",
        Compaction {
            by_provider: Some(_),
            ..
        } => "the provider has compacted the conversation: earlier messages are left out",
        Compaction {
            summary: Some(_), ..
        } => "earlier messages are now a summary",
        Compaction {
            through: Some(_), ..
        } => "earlier messages are left out from here on",
        _ => "the complete conversation is sent again",
    }
}

fn outcome(result: &ToolResult) -> Progress {
    match result {
        Ok(output) => Progress::Done(short(&output.content.to_text())),
        Err(failure) => Progress::Failed(short(&failure.message)),
    }
}

/// Returns the beginning of the text, on one line.
fn short(text: &str) -> String {
    let line = one_line(revealed(text));
    match line.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn count(number: u64, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}

fn tokens(usage: &TokenUsage) -> String {
    match (usage.input_tokens, usage.output_tokens) {
        (None, None) => "tokens not counted".to_owned(),
        (input, output) => {
            let (input, output) = (input.unwrap_or(0), output.unwrap_or(0));
            let all = count(input.saturating_add(output), "token");
            let tokens = format!("{all} ({input} in, {output} out)");
            match usage.cost {
                Some(cost) => format!("{tokens}, {cost}"),
                None => tokens,
            }
        }
    }
}
