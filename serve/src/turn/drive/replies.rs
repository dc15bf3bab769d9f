//! The replies of conversations in processes that are no hosts: `approve`, `deny`, `answer` and `resolve_call`.

use super::Drive;
use super::commands::bring_result;
use crate::engine::{Command, CommandReply, EngineError};
use crate::turn::answers::Unresumable;
use crate::turn::stored::Fact;
use stepwell_io::store::Reply;
use stepwell_io::turn::TurnHandle;

impl Drive<'_> {
    /// Handles the reply to what waits under this id, as [`pending`](stepwell_io::store::pending) lists it.
    pub(super) async fn handle_reply(
        &mut self,
        id: String,
        given: Reply,
        reply: CommandReply,
        handle: &TurnHandle,
    ) {
        if let Reply::Result { result } = given {
            let call = id.into();
            let brought = bring_result(&call, result, handle).await;
            return self.promise(brought.map(|()| vec![Fact::Result(call)]), reply);
        }
        // The unposted run that takes the command reports what was asked between two runs.
        for asking in std::mem::take(&mut self.postponed) {
            self.ask(asking).await;
        }
        let question = self.question_of(&id);
        if question
            .as_ref()
            .is_none_or(|id| !self.questions.has_id(id))
            && (question.is_some() || waits(&id, handle).await)
        {
            // It is about to be asked.
            return self.early.push((Command::Reply(id, given), reply));
        }
        let facts = match question {
            Some(question) => self.reply(&question, given).await,
            None => Err(Unresumable::Unknown(id)),
        };
        self.promise(facts.map_err(EngineError::from), reply);
    }

    /// Returns the id of the question that has this id in the list of what waits: of a call, or of one of its questions.
    fn question_of(&self, id: &str) -> Option<String> {
        let is_known = |id: &String| self.questions.has_id(id) || self.open.contains_key(id);
        let of_call = Some(self.ids.of_call(&id.into())).filter(is_known);
        of_call.or_else(|| {
            let (call, number) = id.rsplit_once('/')?;
            let id = self.ids.of_tool(&call.into(), number.parse().ok()?);
            Some(id).filter(is_known)
        })
    }

    /// Passes the reply to a question on, if it fits, and reports it. Returns the facts that are stored once it counts.
    async fn reply(&mut self, question: &str, given: Reply) -> Result<Vec<Fact>, Unresumable> {
        let tools = self.agent.tools();
        let (entry, mut answers) = self.questions.read_reply(question, given, tools)?;
        for (call, decision) in &answers.decisions {
            self.rounds.decided(call, decision);
        }
        let heard = self
            .questions
            .close(std::slice::from_ref(&entry), &mut answers);
        let fact = heard.get(question).map(|effect| Fact::Answer(*effect));
        self.report_answered(question, entry.status, fact.clone())
            .await;
        Ok(fact.into_iter().collect())
    }
}

/// Returns whether the turn itself waits for a reply under this id.
async fn waits(id: &str, handle: &TurnHandle) -> bool {
    let pending = handle.pending().await.unwrap_or_default();
    pending.iter().any(|pending| pending.id == id)
}
