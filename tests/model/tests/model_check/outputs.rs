//! What comes out of the run: the host takes it, and it is checked on the way.

use crate::look::{history, legal_input, legal_request};
use crate::world::{Asked, Hand, Shown, World, Write, part};
use std::sync::Arc;
use stepwell_core::CallKey;
use stepwell_core::run::{
    Block, Effect, EffectId, HookPlace, Output, RunEvent, StateKind, ToolInvocation, TurnStatus,
};
use stepwell_core::transcript::ToolCallStatus;

impl World {
    /// Takes all outputs.
    pub fn drain(&mut self) {
        while let Some(output) = self.machine.poll_output() {
            match output {
                Output::Event(event) => self.hear(&event),
                Output::Moved(edge) => self.walked.push(edge),
                Output::Effect(id, effect) => self.given(id, effect),
            }
        }
    }

    fn hear(&mut self, event: &RunEvent) {
        let shown = self.ghost.shown;
        match event {
            RunEvent::AnswerDropped { .. } if self.stopping.is_some() => {
                // The user was too late.
                self.stopping = None;
            }
            RunEvent::AnswerDropped { effect } => {
                self.wrong(format!(
                    "contract: the answer to {effect}, which the host holds, is dropped"
                ));
            }
            RunEvent::Started { .. } => {
                if shown != Shown::Nothing {
                    self.wrong("I10: the turn starts twice");
                }
                self.ghost.shown = Shown::Running;
            }
            RunEvent::Completed(_) => {
                if shown == Shown::End {
                    self.wrong("I12: the turn ends twice");
                }
                self.ghost.shown = Shown::End;
            }
            RunEvent::Interrupted { .. } => {
                if shown != Shown::Running {
                    self.wrong("I10: a question outside of a running turn");
                }
                self.ghost.shown = Shown::Question;
            }
            RunEvent::Warning { message } => self.warned(message),
            RunEvent::SteeringTaken { message_id, .. } => self.told(message_id.as_str()),
            RunEvent::SteeringRefused { message, .. } => self.told(message.id().as_str()),
            RunEvent::AgUi(event) if self.bounds.background.is_some() => self.shows(event),
            _ => {
                let is_closing = self.is_over() && shown == Shown::Question;
                if shown != Shown::Running && !is_closing {
                    self.wrong(format!("I10: {event:?} while the turn is {shown:?}"));
                }
            }
        }
    }

    /// Notes that the user is notified of the fate of a typed message.
    fn told(&mut self, id: &str) {
        let before = self.ghost.typed.len();
        self.ghost.typed.retain(|typed| typed != id);
        if self.ghost.typed.len() == before {
            self.wrong(format!(
                "the user hears of {id}, which they did not type, or twice"
            ));
        }
    }

    fn given(&mut self, id: EffectId, effect: Effect) {
        let begins = !matches!(
            effect,
            Effect::CloseStream
                | Effect::CancelAnswer { .. }
                | Effect::CancelTool
                | Effect::Persist { .. }
        );
        if begins && (self.is_over() || self.ghost.shown == Shown::End) {
            self.wrong(format!("I12: {id} begins after the end"));
        }
        if begins && self.hand(id).is_some() {
            self.wrong(format!("contract: {id} is given twice"));
        }
        match effect {
            Effect::CreateRun { .. } => self.put(id, Hand::Create),
            Effect::Authorize { .. } => self.put(id, Hand::Key),
            Effect::ChooseModel { .. } => self.put(id, Hand::Choice),
            Effect::OpenStream { request } if request.method == "GET" => {
                self.begin_reading(id, &request.url);
            }
            Effect::OpenStream { request } => {
                self.check_none_is_left();
                let is_legal = match self.bounds.background {
                    Some(_) => legal_input(&request.body),
                    None => legal_request(&request.body),
                };
                if let Err(fault) = is_legal {
                    self.wrong(format!("I8: the request of {id}: {fault}"));
                }
                self.check_history();
                self.begin_request(id);
            }
            Effect::AskApproval { invocation } => {
                self.check_call(id, &invocation, ToolCallStatus::AwaitingApproval);
                self.put(id, Hand::Approval);
            }
            Effect::RunTool { invocation } => self.begin_tool(id, &invocation),
            Effect::DecodeOutput { .. } => {
                let is_write = |hand: &Hand| matches!(hand, Hand::Write(_) | Hand::Committed);
                if self.hands.iter().any(|(_, hand)| is_write(hand)) {
                    self.wrong(format!("I6c: {id} is given before what it is of is stored"));
                }
                self.put(id, Hand::Decoding);
            }
            Effect::RunHook { .. } => {
                let is_write = |hand: &Hand| matches!(hand, Hand::Write(_) | Hand::Committed);
                let is_of_call = matches!(
                    id,
                    EffectId::Hook {
                        place: HookPlace::Call(_) | HookPlace::Result(_),
                        ..
                    }
                );
                if !is_of_call && self.hands.iter().any(|(_, hand)| is_write(hand)) {
                    self.wrong(format!("I6c: {id} is given before what it is of is stored"));
                }
                self.put(id, Hand::Hook);
            }
            Effect::AskUser { invocation, .. } => {
                self.check_call(id, &invocation, ToolCallStatus::Executing);
                let call = invocation.call;
                if self.ghost.answered.contains(&call) {
                    self.wrong(format!("{id} asks what the user has answered"));
                }
                self.put(id, Hand::Question);
            }
            Effect::CancelAnswer { request } => self.cancelled(&request.url),
            Effect::AnswerTool { .. } => self.check_answer(id),
            Effect::Persist { status, blocks, .. } => self.begin_write(id, status, &blocks),
            Effect::CloseStream | Effect::CancelTool => {
                let at = self.hands.iter().position(|entry| entry.0 == id);
                match at {
                    Some(at) => drop(self.hands.remove(at)),
                    None => self.wrong(format!(
                        "contract: {id} is stopped, which the host does not hold"
                    )),
                }
            }
            other => self.wrong(format!("an effect that the world does not know: {other:?}")),
        }
    }

    fn begin_request(&mut self, id: EffectId) {
        self.count_request(id);
        // Calls of an earlier try, and of hops long over, are forgotten.
        let EffectId::Open { hop, .. } = id else {
            return;
        };
        let keeps = |call: &CallKey| call.hop + 1 == hop;
        self.asked.retain(|entry| keeps(&entry.0));
        self.begun.retain(|entry| keeps(&entry.0));
        self.store.calls.retain(|entry| keeps(&entry.0));
        self.ghost.results.retain(|entry| keeps(&entry.0));
        self.ghost.granted.retain(keeps);
        self.ghost.stopped.retain(keeps);
        self.put(id, Hand::Request);
    }

    /// Checks that the request is within the limits.
    pub fn count_request(&mut self, id: EffectId) {
        let EffectId::Open { hop, attempt } = id else {
            return self.wrong(format!("{id} opens a stream"));
        };
        let questions = u32::from(self.bounds.questions - self.questions);
        let steers = u32::from(self.bounds.steers - self.steers);
        // An answer that a crash has cut is asked for in a hop of its own.
        let died = u32::from(self.bounds.crashes - self.crashes);
        let rounds = self.bounds.last_hop();
        // So is one that another model is to give again, before each round of tools and after the last.
        let replaced = (self.bounds.models() - 1) * (rounds + 1);
        // And one of which a part was shown, with a count of its own after a crash.
        let repeated = self.bounds.retries_after_text() * (rounds + 1 + died);
        let last = rounds + questions + steers + died + replaced + repeated;
        if hop > last {
            self.wrong(format!("I9: hop {hop}, where {last} is the last"));
        }
        let opens = if self.opens.0 == hop {
            self.opens.1 + 1
        } else {
            1
        };
        self.opens = (hop, opens);
        // A try without a network, or on a network that changed, does not count.
        let tries = self.bounds.config.retry.max_attempts();
        // Each may be refused once for its key.
        let tries = tries * (1 + u32::from(self.bounds.asks_for_keys())) * self.bounds.models();
        // So may the request for a summary that comes first.
        let tries = tries * (1 + u32::from(self.bounds.summarizes()));
        // The count begins anew wherever an answer that is made in the background breaks off, and with each read of one.
        let breaks = self.bounds.interruptions().map_or(0, |count| count + 1);
        let most = tries * (1 + breaks) + 2 * u32::from(self.bounds.device);
        if attempt >= most || opens > most * (died + 1) {
            self.wrong(format!("I1: {id} is request {opens} of hop {hop}"));
        }
        if self.bounds.stores() {
            let results = |call: &CallKey| call.hop + 1 == hop;
            let missing = self
                .asked
                .iter()
                .map(|entry| entry.0)
                .filter(results)
                .find(|call| self.store.knows(*call) & 4 == 0);
            if let Some(call) = missing {
                self.wrong(format!(
                    "I6c: {id} opens before the result of {call} is stored"
                ));
            }
        }
    }

    /// Checks a call that is given to the host.
    fn check_call(&mut self, id: EffectId, invocation: &ToolInvocation, status: ToolCallStatus) {
        let call = invocation.call;
        if self
            .hands
            .iter()
            .any(|(_, hand)| matches!(hand, Hand::Stream(_)))
        {
            self.wrong(format!("{id} is given while the stream goes on"));
        }
        match self.kind(call) {
            Some(kind) if kind.runs() && kind.tool() == invocation.name => {}
            kind => self.wrong(format!("{id} is given for a call of {kind:?}")),
        }
        let live = self.machine.transcript().calls().iter();
        if live
            .filter(|live| live.key == call && live.status == status)
            .count()
            != 1
        {
            self.wrong(format!("{id} is given for a call that is not {status:?}"));
        }
        if self.bounds.stores() && self.store.knows(call) & 1 == 0 {
            self.wrong(format!("I6c: {id} is given before the call is stored"));
        }
    }

    /// Checks the notification of a tool about the user's answer.
    fn check_answer(&mut self, id: EffectId) {
        let EffectId::Ask { call, .. } = id else {
            return self.wrong(format!("{id} is no question"));
        };
        let runs = matches!(self.hand(EffectId::Tool(call)), Some(Hand::Tool));
        let waits = matches!(self.asked_by(call), Some(Asked::Answered | Asked::Known));
        if !runs || !waits {
            self.wrong(format!("{id} is answered, and no tool waits for it"));
        }
        self.note_asked(call, Asked::Told);
        if self.bounds.stores() && self.store.knows(call) & 8 == 0 {
            self.wrong(format!("I6c: {id} is answered before the answer is stored"));
        }
    }

    fn begin_tool(&mut self, id: EffectId, invocation: &ToolInvocation) {
        use crate::peer::Kind;
        let call = invocation.call;
        self.check_call(id, invocation, ToolCallStatus::Executing);
        if self.finished != Some(call.hop) {
            self.wrong(format!(
                "{id} begins, and the stream that asked for it was cut off"
            ));
        }
        if self.ghost.stopped.contains(&call) {
            self.wrong(format!("{id} begins, and the user had stopped it"));
        }
        let kind = self.kind(call);
        if kind == Some(Kind::Approval) {
            if !self.ghost.granted.contains(&call) {
                self.wrong(format!("{id} begins without the user's consent"));
            }
            if self.bounds.stores() && self.store.knows(call) & 2 == 0 {
                self.wrong(format!("I6c: {id} begins before the approval is stored"));
            }
        }
        match self.begun.iter_mut().find(|entry| entry.0 == call) {
            Some(entry) => {
                entry.1 += 1;
                if kind != Some(Kind::Idempotent) {
                    self.wrong(format!("I7: {id} begins twice"));
                }
            }
            None => self.begun.push((call, 1)),
        }
        self.put(id, Hand::Tool);
    }

    fn begin_write(&mut self, id: EffectId, status: TurnStatus, blocks: &[Block]) {
        let is_write = |hand: &Hand| matches!(hand, Hand::Write(_) | Hand::Committed);
        if self.hands.iter().any(|(_, hand)| is_write(hand)) {
            self.wrong(format!("{id} is given while another write is under way"));
        }
        if self.store.is_closed {
            self.wrong(format!("I12: {id} is given after the turn was closed"));
        }
        if status == TurnStatus::Streaming && blocks.is_empty() {
            self.wrong(format!("{id} writes nothing"));
        }
        if status != TurnStatus::Streaming && self.machine.state() != StateKind::Completed {
            self.wrong(format!("{id} closes a turn that goes on"));
        }
        let first = EffectId::Persist {
            sequence: self.store.blocks,
        };
        if id != first {
            self.wrong(format!("I6a: {id}, where the store waits for {first}"));
        }
        let blocks: Vec<_> = blocks.iter().map(part).collect();
        for ((sequence, _, digest), wanted) in blocks.iter().zip(self.store.blocks..) {
            if *sequence != wanted {
                self.wrong(format!("I6a: block {sequence} where {wanted} is due"));
            }
            let before = self.written.iter().find(|entry| entry.0 == *sequence);
            match before.map(|entry| entry.1 == *digest) {
                Some(true) => {}
                Some(false) => self.wrong(format!("I6b: block {sequence} has two contents")),
                None => self.written.push((*sequence, *digest)),
            }
        }
        // The checkpoint restores the same as the complete run: the property tests compare the two.
        let snapshot = self.snapshot(self.machine.snapshot());
        let write = Write {
            status,
            blocks,
            snapshot,
        };
        self.put(id, Hand::Write(Arc::new(write)));
    }

    /// I8 and I17: the history has a result for each call, in their order, and it is the one that the call came to,
    /// whatever finished first.
    pub fn check_history(&mut self) {
        match history(self.machine.transcript().messages()) {
            Err(fault) => self.wrong(format!("I8: {fault}")),
            Ok(results) => {
                for (call, expected) in self.ghost.results.clone() {
                    let id = crate::peer::provider_id(call);
                    let result = results.iter().find(|entry| entry.0 == id);
                    if !result.is_some_and(|entry| entry.1.contains(expected)) {
                        self.wrong(format!(
                            "I17: {call} came to {expected:?}, the history has {result:?}"
                        ));
                    }
                }
            }
        }
    }
}
