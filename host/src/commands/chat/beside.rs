//! What a chat handles during a turn: events of MCP servers, and tools that ask.

use super::agent_asks;
use super::asking::{Asked, Asking, ask};
use super::prompt::Prompt;
use crate::setup::mcp;
use std::future::pending;
use stepwell_demo::terminal::Shown;
use stepwell_demo::{Beside, Failure};
use stepwell_io::mcp::{McpEvent, McpEvents};
use stepwell_io::message::{Interrupt, ResumeEntry};

pub(super) struct BesideChat<'a> {
    /// The events of MCP servers.
    pub(super) news: &'a mut McpEvents,
    /// The tools that ask, and where the user answers.
    pub(super) asked: &'a mut Asked,
    pub(super) prompt: &'a mut Prompt,
    /// The number of times that an AG-UI agent got no answer.
    pub(super) unanswered: u32,
}

/// An event during the turn.
// One at a time, on the stack.
#[allow(clippy::large_enum_variant)]
pub(super) enum News {
    Mcp(McpEvent),
    Asks(Asking),
}

impl Beside for BesideChat<'_> {
    type News = News;

    async fn next(&mut self) -> News {
        tokio::select! {
            Some(event) = self.news.next() => News::Mcp(event),
            Some(asking) = self.asked.recv() => News::Asks(asking),
            else => pending().await,
        }
    }

    async fn handle(&mut self, news: News, shown: &mut Shown) -> Result<bool, Failure> {
        match news {
            News::Mcp(event) => {
                if let Some(note) = mcp::note(&event) {
                    shown.note(&note)?;
                }
                Ok(true)
            }
            News::Asks(asking) => ask(asking, self.prompt, shown).await,
        }
    }

    async fn answer(
        &mut self,
        interrupts: Vec<Interrupt>,
        shown: &mut Shown,
    ) -> Result<Option<Vec<ResumeEntry>>, Failure> {
        if self.prompt.is_interactive() {
            return agent_asks::answer(interrupts, self.prompt, shown).await;
        }
        self.unanswered += 1;
        Ok(agent_asks::refuse(interrupts, self.unanswered))
    }
}
