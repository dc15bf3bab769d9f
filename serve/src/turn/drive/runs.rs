//! The runs of a turn: where a run ends, and how the next one continues the turn.

use super::{Awaited, CurrentRun, Drive};
use crate::engine::{Command, CommandReply, Continued, EngineError};
use crate::turn::answers::Unresumable;
use crate::turn::brought::{Given, RunTerms};
use crate::turn::ending::Ending;
use crate::turn::in_runs::{NextRun, input, started};
use crate::turn::stored::Fact;
use crate::turn::usage::usage_since;
use stepwell_core::ToolCallId;
use stepwell_core::event::{ResumeEntry, ResumeStatus, RunOutcome};
use stepwell_core::run::PendingKind;
use stepwell_core::transcript::LiveCall;
use stepwell_io::RunId;
use stepwell_io::tool::{ToolCallStatus, ToolResult};
use stepwell_io::turn::TurnHandle;
use tokio::sync::oneshot;
use uuid::Uuid;

impl Drive<'_> {
    /// Returns what the turn waits for, if only the user or the client can move it on and all its events were reported.
    pub(crate) async fn awaited(&self, handle: &TurnHandle) -> Option<Awaited> {
        let transcript = handle.transcript().await.ok()?;
        let calls = transcript.calls();
        let questions = &self.questions;
        let asks =
            |call: &LiveCall| call.status == ToolCallStatus::Executing && questions.has(&call.id);
        let waits = |call: &LiveCall| match call.status {
            ToolCallStatus::AwaitingApproval => questions.has(&call.id),
            ToolCallStatus::Deferred => true,
            // A turn that is reported as one run keeps its host while its tools run.
            ToolCallStatus::Executing => self.is_told_in_runs && asks(call),
            // The call begins when the one that asks is over.
            ToolCallStatus::Pending => self.is_told_in_runs && calls.iter().any(asks),
            _ => false,
        };
        let mut open = calls.iter().filter(|call| !call.status.is_final());
        // A tool may have begun since the turn came to rest. While an agent asks, none does.
        let is_given = self.early.is_empty() && self.next.is_none();
        let is_heard = is_given && self.rounds.is_heard(calls);
        let asks_all = self.open.keys().all(|id| questions.has_id(id));
        let rests = is_heard && asks_all && open.all(waits);
        let agents_ask = self.is_told_in_runs && questions.has_agents();
        if !rests && !agents_ask {
            return None;
        }
        let with = |status| calls.iter().filter(move |call| call.status == status);
        if !with(ToolCallStatus::AwaitingApproval).all(|call| questions.has(&call.id)) {
            // A call is about to ask, or was answered just now.
            return None;
        }
        // A tool may have asked something that has not come here yet.
        let pending = handle.pending().await.ok()?;
        let asked = pending.iter().filter(|it| it.kind != PendingKind::Result);
        if asked.count() > questions.of_calls() + self.postponed.len() {
            return None;
        }
        if !questions.is_empty() {
            return Some(Awaited::User);
        }
        let deferred = with(ToolCallStatus::Deferred).map(|call| call.id.clone());
        let deferred: Vec<_> = deferred.collect();
        (!deferred.is_empty()).then_some(Awaited::Client(deferred))
    }

    /// Begins a run, which is reported once these facts are stored.
    pub(crate) async fn begin_run(
        &mut self,
        id: RunId,
        terms: Option<&RunTerms>,
        facts: Vec<Fact>,
        handle: &TurnHandle,
    ) {
        let started = started(self.key, &id, terms);
        self.writer.append_facts(started, facts).await;
        self.run = Some(CurrentRun {
            id,
            before: handle.usage().await.unwrap_or_default(),
            observer: self.setup.observed(),
        });
        let linger = self.setup.linger;
        let lingers = terms.is_none_or(|terms| !terms.is_background);
        self.reading.begin(linger.filter(|_| lingers));
    }

    /// Begins a run that no client has posted: a reader of the turn moves it on.
    pub(crate) async fn begin_unposted(&mut self, handle: &TurnHandle) {
        let id = format!("{}-{}", self.key.turn, Uuid::new_v4().simple());
        self.begin_run(id.into(), None, Vec::new(), handle).await;
        self.reading.begin(None);
    }

    /// Ends the run under way, where the turn is reported in runs.
    pub(crate) async fn end_run(&mut self, rest: &Awaited, handle: &TurnHandle) {
        if !self.is_told_in_runs || self.run.is_none() {
            return;
        }
        self.report_state().await;
        let ending = match rest {
            Awaited::Client(calls) => Ending::pending(calls.clone()),
            Awaited::User => {
                let asked = self.questions.to_vec().into_iter();
                let interrupts = asked.map(|question| question.interrupt).collect();
                Ending::Finished(RunOutcome::Interrupt { interrupts })
            }
        };
        self.report_end(ending, handle).await;
    }

    async fn report_end(&mut self, ending: Ending, handle: &TurnHandle) {
        let Some(run) = self.run.take() else { return };
        let used = handle.usage().await.unwrap_or_default();
        let usage = usage_since(used, &run.before, self.models.first());
        let event = ending.event(&input(self.key, &run.id), usage);
        tracing::info!(target: "stepwell", turn = %self.key, run = %run.id, end = event.kind(), "a run is over, and its turn waits");
        if let Some(observer) = run.observer {
            observer.ended(&event);
        }
        self.writer.close_open_items().await;
        self.writer.append(event).await;
        self.note_asks();
    }

    /// Continues in a new run, once the questions that the run answers were asked again.
    pub(crate) async fn continue_in_run(
        &mut self,
        continued: Continued,
        reply: CommandReply,
        handle: &TurnHandle,
    ) {
        let Continued { mut brought, .. } = continued;
        let is_free = self.run.is_none() && self.next.is_none();
        let Some(terms) = brought.run.as_ref().filter(|_| is_free) else {
            let id = self.run.as_ref().map(|run| &run.id);
            // The turn may have continued in this run already, with what an owner before had stored of it.
            let is_it = id.is_some() && id == brought.run.as_ref().map(|run| &run.id);
            let _ = reply.send(if is_it {
                Ok(())
            } else {
                Err(EngineError::Contended)
            });
            return;
        };
        let terms = terms.clone();
        // These questions are not open any more.
        let answers = &mut brought.given.answers;
        answers.retain(|entry| !self.void.contains(&entry.interrupt_id));
        self.next = Some(NextRun {
            terms,
            brought,
            reply,
        });
        self.begin_next(handle).await;
    }

    /// Begins the run in which the turn continues, unless the questions that it answers must be asked again first. The
    /// start is reported to the client once what the run brought is stored. A run whose answers do not fit ends at
    /// once, and the turn still waits.
    pub(crate) async fn begin_next(&mut self, handle: &TurnHandle) {
        let Some(next) = self.next.take() else {
            return;
        };
        if self.is_early(&next.brought.given.answers) {
            self.next = Some(next);
            return;
        }
        let NextRun {
            terms,
            brought,
            reply,
        } = next;
        // From here on each stored part of the run comes with the rest.
        self.stored.keep(&brought);
        let after = brought.with_given_stored();
        let Given { answers, results } = brought.given;
        let id = terms.id.clone();
        let mut facts = Vec::new();
        let heard = match self.check_whole(&answers) {
            Ok(()) => {
                if let (Some(state), Some(own)) = (&terms.state, &self.state) {
                    own.replace(state.clone());
                }
                facts.extend(self.bring_results(results, handle).await);
                self.pass_on_answers(&answers, handle).await
            }
            Err(error) => Err(error),
        };
        let heard = match heard {
            Ok(heard) => heard,
            Err(error) => {
                self.stored.keep(&after);
                self.begin_run(id, Some(&terms), facts, handle).await;
                let _ = reply.send(Ok(()));
                let ending = Ending::failed(error.code(), error.to_string());
                self.report_end(ending, handle).await;
                self.has_moved = true;
                return;
            }
        };
        facts.extend(heard.into_values().map(Fact::Answer));
        self.stored.keep_after(facts.clone(), &after);
        self.begin_run(id, Some(&terms), facts, handle).await;
        let _ = reply.send(Ok(()));
        for id in std::mem::take(&mut self.void) {
            self.report_answered(&id, ResumeStatus::Cancelled, None)
                .await;
        }
        for entry in &answers {
            self.report_answered(&entry.interrupt_id, entry.status, None)
                .await;
        }
        for asking in std::mem::take(&mut self.postponed) {
            self.ask(asking).await;
        }
    }

    /// Applies what the client brought to an earlier owner that has not stored all of it.
    pub(crate) async fn give_unstored(&mut self, given: Given, handle: &TurnHandle) {
        for (call, result) in given.results {
            // A call whose result is stored waits for none.
            let _ = handle.resolve_call(call, result).await;
        }
        let mut answers = given.answers;
        answers.retain(|entry| {
            let id = &entry.interrupt_id;
            self.open.contains_key(id) || self.questions.has_id(id)
        });
        if !answers.is_empty() {
            let (reply, _) = oneshot::channel();
            Box::pin(self.handle_command(Command::Answer(answers), reply, handle)).await;
        }
    }

    /// Brings the results of the client's tools. Returns the facts that are stored once the results count.
    async fn bring_results(
        &mut self,
        results: Vec<(ToolCallId, ToolResult)>,
        handle: &TurnHandle,
    ) -> Vec<Fact> {
        let mut facts = Vec::new();
        let Ok(stands) = handle.transcript().await else {
            return facts;
        };
        for (call, result) in results {
            let stands = stands.call_by_id(&call).map(|call| call.status);
            if stands == Some(ToolCallStatus::Deferred) {
                match handle.resolve_call(call.clone(), result).await {
                    Ok(()) => facts.push(Fact::Result(call.clone())),
                    Err(error) => {
                        tracing::debug!(target: "stepwell", turn = %self.key, %error, "a result was not taken");
                    }
                }
            }
            // A question is not answered by a result, nor is a tool of the server's.
            let has_result = stands.is_some_and(|status| status.is_final());
            if has_result || facts.last() == Some(&Fact::Result(call.clone())) {
                self.rounds.mark_known(&call);
            }
        }
        facts
    }

    /// Checks that each question has an answer, and that there are no other answers.
    fn check_whole(&self, resume: &[ResumeEntry]) -> Result<(), Unresumable> {
        let is_asked = |id: &str| self.questions.has_id(id) || self.open.contains_key(id);
        if let Some(other) = resume.iter().find(|entry| !is_asked(&entry.interrupt_id)) {
            return Err(Unresumable::Unknown(other.interrupt_id.clone()));
        }
        let asked = self.questions.to_vec().into_iter();
        let asked = asked.map(|question| question.interrupt.id);
        let mut asked = asked.chain(self.open.keys().cloned());
        let is_answered = |id: &String| resume.iter().any(|entry| entry.interrupt_id == *id);
        match asked.find(|id| !is_answered(id)) {
            Some(id) => Err(Unresumable::Unanswered(id)),
            None => Ok(()),
        }
    }

    /// Reports the changes of the state.
    pub(crate) async fn report_state(&mut self) {
        let untold = self.state.as_ref().map(|state| state.untold());
        for change in untold.into_iter().flatten() {
            self.writer.append(change).await;
        }
    }
}
