//! The conversation of a chat, from its first line to its last.

use super::agents::{Agents, provider_advice};
use super::asking::Asked;
use super::beside::BesideChat;
use super::commands::{COMMANDS, Command, message};
use super::prompt::{Line, Prompt};
use super::saved::save;
use super::session::Session;
use std::path::PathBuf;
use std::time::Instant;
use stepwell_demo::terminal::{Shown, Summary};
use stepwell_demo::{Failure, follow_with, one_line, problem};
use stepwell_io::Agent;
use stepwell_io::mcp::McpEvents;
use stepwell_io::turn::{Outcome, TurnEvents};

/// The words to which the scripted model has different answers.
const SCENES: &str = "hello, think, table, slow, change, missing, fail, refuse, wait";

/// A user, an agent, and their means to talk.
pub(super) struct Talk {
    pub(super) agents: Agents,
    pub(super) agent: Agent,
    pub(super) session: Session,
    /// The name of the store, if sessions are kept.
    pub(super) store: Option<String>,
    pub(super) news: McpEvents,
    pub(super) asked: Asked,
    pub(super) prompt: Prompt,
    pub(super) shown: Shown,
    /// The text that the next line begins with.
    pub(super) initial: String,
    /// Whether the user pressed Ctrl-C last.
    pub(super) is_leaving: bool,
    /// Whether a turn failed in a pipe.
    pub(super) has_failed: bool,
}

/// The next event of the chat.
enum Next {
    Turn(TurnEvents),
    Line,
    End,
}

impl Talk {
    pub(super) async fn run(&mut self) -> Result<(), Failure> {
        self.greet()?;
        self.session.show(&mut self.shown)?;
        let mut next = match self.session.resume_turn(&self.agent).await? {
            Some(turn) => Next::Turn(turn),
            None => Next::Line,
        };
        loop {
            next = match next {
                Next::Turn(turn) => self.follow(turn).await?,
                Next::Line => self.line().await?,
                Next::End if self.has_failed => return Err(Failure::Told),
                Next::End => return Ok(()),
            };
        }
    }

    /// Prints the first line for a user who watches, and for every user that the model is scripted.
    fn greet(&mut self) -> Result<(), Failure> {
        if !self.prompt.is_interactive() {
            if self.agents.is_scripted() {
                eprintln!("stepwell: {}", provider_advice());
            }
            return Ok(());
        }
        let store = match &self.store {
            Some(store) => format!("{store}, session {}", self.session.thread),
            None => "nothing is kept".to_owned(),
        };
        let name = self.agents.name();
        self.shown
            .remark(&format!("{name} · {store} · /help, Ctrl-D leaves"))?;
        if self.agents.is_scripted() {
            self.shown.remark(&provider_advice())?;
        }
        Ok(())
    }

    async fn line(&mut self) -> Result<Next, Failure> {
        let initial = std::mem::take(&mut self.initial);
        let was_leaving = std::mem::take(&mut self.is_leaving);
        match self.prompt.next(&initial).await? {
            Line::Text(text) if text.trim().is_empty() => Ok(Next::Line),
            // A line from a pipe is always for the model: its author may be anyone.
            Line::Text(text) if !self.prompt.is_interactive() => {
                Ok(Next::Turn(self.session.send(&self.agent, &text)))
            }
            Line::Text(text) => match Command::read(&text) {
                None => Ok(Next::Turn(self.session.send(&self.agent, message(&text)))),
                Some(Ok(command)) => self.handle_command(command).await,
                Some(Err(reason)) => {
                    self.shown.problem(&reason)?;
                    Ok(Next::Line)
                }
            },
            Line::Interrupted if was_leaving => Ok(Next::End),
            Line::Interrupted => {
                self.is_leaving = true;
                self.shown.remark("Ctrl-C once more leaves")?;
                Ok(Next::Line)
            }
            Line::End => Ok(Next::End),
        }
    }

    async fn follow(&mut self, turn: TurnEvents) -> Result<Next, Failure> {
        let begin = Instant::now();
        let mut beside = BesideChat {
            news: &mut self.news,
            asked: &mut self.asked,
            prompt: &mut self.prompt,
            unanswered: 0,
        };
        let finished = follow_with(turn, &mut self.shown, &mut beside).await?;
        let is_cancelled = finished.outcome == Outcome::Cancelled;
        if !self.prompt.is_interactive() {
            if let Some(problem) = problem(&finished.outcome) {
                if is_cancelled {
                    return Err(Failure::Failed(problem));
                }
                // The remaining lines are answered all the same.
                self.has_failed = true;
                eprintln!("stepwell: {}", one_line(problem));
            }
            return Ok(Next::Line);
        }
        self.is_leaving = is_cancelled;
        if is_cancelled {
            self.shown.problem("cancelled; Ctrl-C once more leaves")?;
        } else if let Some(problem) = problem(&finished.outcome) {
            self.shown.problem(&problem)?;
        }
        self.shown.summary(&Summary {
            hops: finished.hops,
            usage: &finished.usage,
            time: begin.elapsed(),
        })?;
        Ok(Next::Line)
    }

    async fn handle_command(&mut self, command: Command<'_>) -> Result<Next, Failure> {
        let done = match command {
            Command::Leave => return Ok(Next::End),
            Command::Sessions(Some(which)) => self.switch(which).await,
            Command::New => self.begin().await,
            Command::Help => self.help().map(|()| None),
            Command::Model(words) => self.model(&words).map(|()| None),
            Command::Sessions(None) => self.sessions().await.map(|()| None),
            Command::Undo => self.undo().await.map(|()| None),
            Command::Whole => self.whole().map(|()| None),
            Command::Save(file) => self.save(file).await.map(|()| None),
        };
        match done {
            Ok(Some(turn)) => Ok(Next::Turn(turn)),
            Ok(None) => Ok(Next::Line),
            Err(Failure::Usage(reason) | Failure::Failed(reason)) => {
                self.shown.problem(&reason)?;
                Ok(Next::Line)
            }
            Err(other) => Err(other),
        }
    }

    fn help(&mut self) -> Result<(), Failure> {
        for (name, takes, does) in COMMANDS {
            let command = format!("/{name} {takes}");
            self.shown
                .remark(&format!("{}: {does}", command.trim_end()))?;
        }
        self.shown
            .remark("Ctrl-C cancels an answer, twice leaves; a line that begins with // is said with one slash")?;
        if self.agents.is_scripted() {
            self.shown.remark(&format!(
                "the scripted model answers to the words {SCENES}, and to others"
            ))?;
        }
        Ok(())
    }

    fn model(&mut self, words: &[&str]) -> Result<(), Failure> {
        if !words.is_empty() {
            self.agents.change(words)?;
            self.agent = self.agents.agent(&self.session.store)?;
        }
        let name = self.agents.name();
        self.shown.remark(&format!("{name} answers"))?;
        if let Err(Failure::Usage(reason)) = self.agents.check_compaction() {
            self.shown
                .problem(&format!("long conversations are not compacted: {reason}"))?;
        }
        Ok(())
    }

    async fn sessions(&mut self) -> Result<(), Failure> {
        let sessions = self.session.list().await?;
        if sessions.is_empty() {
            self.shown.remark("the store has no session yet")?;
        }
        for (number, session) in (1..).zip(&sessions) {
            let here = if session.thread == self.session.thread {
                " (this one)"
            } else {
                ""
            };
            let (title, at) = (&session.title, &session.updated);
            self.shown
                .remark(&format!("{number}: {title} · {at}{here}"))?;
        }
        Ok(())
    }

    /// Continues a session, by its number in the list or its id.
    async fn switch(&mut self, which: &str) -> Result<Option<TurnEvents>, Failure> {
        let sessions = self.session.list().await?;
        let number = which.parse::<usize>().ok();
        let listed = number.and_then(|number| sessions.get(number.checked_sub(1)?));
        let id = listed.map_or(which, |session| session.thread.as_str());
        let store = self.session.store.clone();
        let session = Session::resumed(store, id).await?;
        self.take(session).await
    }

    async fn begin(&mut self) -> Result<Option<TurnEvents>, Failure> {
        let session = Session::new(self.session.store.clone());
        self.take(session).await
    }

    async fn take(&mut self, session: Session) -> Result<Option<TurnEvents>, Failure> {
        self.agent = self.agents.agent(&session.store)?;
        self.session = session;
        self.shown
            .remark(&format!("session {}", self.session.thread))?;
        self.session.show(&mut self.shown)?;
        self.session.resume_turn(&self.agent).await
    }

    async fn undo(&mut self) -> Result<(), Failure> {
        let Some(text) = self.session.undo().await? else {
            return Ok(self.shown.remark("there is nothing to take back")?);
        };
        self.shown.remark(if self.store.is_some() {
            "taken back; what you say next is said in its place, and until then --resume has it still"
        } else {
            "taken back; what you say next is said in its place"
        })?;
        self.initial = text;
        Ok(())
    }

    fn whole(&mut self) -> Result<(), Failure> {
        self.session.is_whole = true;
        Ok(self
            .shown
            .remark("the model is sent the complete conversation with your next message")?)
    }

    async fn save(&mut self, file: Option<&str>) -> Result<(), Failure> {
        let view = self.session.view().await?;
        let path = match file {
            Some(file) => PathBuf::from(file),
            None => PathBuf::from(format!("stepwell-{}.md", self.session.thread)),
        };
        let shown = path.display();
        save(&path, &self.session.thread, &view)
            .map_err(|error| Failure::failed(format!("{shown}: {error}")))?;
        Ok(self.shown.remark(&format!("written to {shown}"))?)
    }
}

#[cfg(test)]
mod tests {
    use super::SCENES;
    use serde_json::Value;

    #[test]
    fn help_lists_words_of_the_script() {
        let script: Value =
            serde_json::from_str(include_str!("../../serve/scenes.json")).expect("JSON");
        let scenes = script["scenes"].as_array().expect("scenes");
        let known: Vec<_> = scenes
            .iter()
            .filter_map(|scene| scene["keyword"].as_str())
            .collect();
        for word in SCENES.split(", ") {
            assert!(known.contains(&word), "{word}");
        }
    }
}
