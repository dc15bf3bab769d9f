use super::items::{
    Agent, Item, REASONING_MESSAGE, REASONING_SPAN, TEXT_MESSAGE, TOOL_CALL, already_open, end,
    go_on, is_open, not_open, own, owned_by, start,
};
use super::last_piece::PieceOf;
use super::{OpenStep, Order, Phase, Rule, Violation};
use crate::event::{
    EncryptedValueSubtype, Event, EventRef, Message, ReasoningEncryptedValue, SubagentStarted,
    ToolCallStart,
};

/// The effect of an event on the item that it belongs to.
#[derive(Clone, Copy)]
enum ItemStep {
    Start,
    Content,
    End,
}

/// Returns the item and the step of an event to which the common rules of items apply. The start of a tool call has
/// rules of its own.
fn item_step(event: &Event) -> Option<(PieceOf, ItemStep, &str)> {
    use ItemStep::{Content, End, Start};
    use PieceOf::{Call, Message, Reasoning};
    Some(match event {
        Event::TextMessageStart(e) => (Message, Start, &e.message_id),
        Event::TextMessageContent(e) => (Message, Content, &e.message_id),
        Event::TextMessageEnd(e) => (Message, End, &e.message_id),
        Event::ReasoningMessageStart(e) => (Reasoning, Start, &e.message_id),
        Event::ReasoningMessageContent(e) => (Reasoning, Content, &e.message_id),
        Event::ReasoningMessageEnd(e) => (Reasoning, End, &e.message_id),
        Event::ToolCallArgs(e) => (Call, Content, &e.tool_call_id),
        Event::ToolCallEnd(e) => (Call, End, &e.tool_call_id),
        _ => return None,
    })
}

impl Order {
    /// Checks one event and records its effect on the order. A refused event changes nothing.
    ///
    /// # Errors
    /// The protocol does not allow the event here. According to the protocol the stream is over.
    #[inline]
    pub fn check(&mut self, event: EventRef<'_>) -> Result<(), Violation> {
        let (kind, id) = match event {
            EventRef::TextMessageContent { message_id, .. } => (PieceOf::Message, message_id),
            EventRef::ReasoningMessageContent { message_id, .. } => {
                (PieceOf::Reasoning, message_id)
            }
            EventRef::ToolCallArgs { tool_call_id, .. } => (PieceOf::Call, tool_call_id),
            EventRef::Whole(event) => {
                self.last_piece.forget();
                return self.check_whole(event);
            }
        };
        if self.last_piece.is(kind, id) {
            return Ok(());
        }
        self.check_piece(kind, id)
    }

    fn check_piece(&mut self, kind: PieceOf, id: &str) -> Result<(), Violation> {
        let (items, event, rule, what) = match kind {
            PieceOf::Message => (
                &self.messages,
                "TEXT_MESSAGE_CONTENT",
                Rule::O7,
                TEXT_MESSAGE,
            ),
            PieceOf::Reasoning => (
                &self.reasoning,
                "REASONING_MESSAGE_CONTENT",
                Rule::O16,
                REASONING_MESSAGE,
            ),
            PieceOf::Call => (&self.tool_calls, "TOOL_CALL_ARGS", Rule::O9, TOOL_CALL),
        };
        // An item is open only while a run is going on, so one look-up answers for both.
        if is_open(items, id) {
            self.last_piece.note(kind, id);
            return Ok(());
        }
        self.active(event)?;
        Err(not_open(rule, event, what, id))
    }

    fn check_whole(&mut self, event: &Event) -> Result<(), Violation> {
        match event {
            Event::Unknown(_) => Ok(()),
            Event::RunStarted(start) => {
                let input = start.input.as_ref();
                self.run_started(input.map_or(&[], |input| input.messages.as_slice()))
            }
            Event::RunError(_) => self.run_error(),
            Event::RunFinished(_) => self.run_finished(),
            _ => {
                self.active(event.kind())?;
                self.check_in_run(event)
            }
        }
    }

    /// Checks an event that may only come while a run is active.
    fn check_in_run(&mut self, event: &Event) -> Result<(), Violation> {
        let kind = event.kind();
        let tag = event
            .common()
            .and_then(|common| common.subagent_run_id.as_deref());
        if let Some((of, step, id)) = item_step(event) {
            return self.check_item(of, step, id, kind, tag);
        }
        match event {
            Event::ToolCallStart(e) => self.tool_call_start(e, tag),
            Event::StepStarted(e) => self.step_started(&e.step_name, tag),
            Event::StepFinished(e) => self.step_finished(&e.step_name, tag),
            Event::ReasoningStart(e) => self.reasoning_start(&e.message_id, tag),
            Event::ReasoningEnd(e) => self.reasoning_end(&e.message_id, tag),
            Event::ReasoningEncryptedValue(e) => self.encrypted_value(e, tag),
            Event::ActivityDelta(e) => match self.activities.get(e.message_id.as_str()) {
                Some(owner) => owned_by(Rule::O19, kind, "activity", &e.message_id, tag, owner),
                None => Ok(()),
            },
            Event::SubagentStarted(e) => self.subagent_started(e),
            Event::SubagentFinished(e) => self.subagent_ended(kind, &e.subagent_run_id),
            Event::SubagentError(e) => self.subagent_ended(kind, &e.subagent_run_id),
            _ => {
                self.note_owners(event, tag);
                Ok(())
            }
        }
    }

    /// Checks an event that starts, continues or ends a message, a reasoning message or a tool call.
    fn check_item(
        &mut self,
        of: PieceOf,
        step: ItemStep,
        id: &str,
        kind: &str,
        tag: Option<&str>,
    ) -> Result<(), Violation> {
        let (items, what, start_rule, open_rule) = match of {
            PieceOf::Message => (&mut self.messages, TEXT_MESSAGE, Rule::O6, Rule::O7),
            PieceOf::Reasoning => (&mut self.reasoning, REASONING_MESSAGE, Rule::O15, Rule::O16),
            PieceOf::Call => (&mut self.tool_calls, TOOL_CALL, Rule::O8, Rule::O9),
        };
        match step {
            ItemStep::Start => start(items, start_rule, kind, what, id, tag),
            ItemStep::Content => go_on(items, open_rule, kind, what, id, tag).map(drop),
            ItemStep::End => end(items, open_rule, kind, what, id, tag),
        }
    }

    /// Records the owners of items in events that need no check.
    fn note_owners(&mut self, event: &Event, tag: Option<&str>) {
        match event {
            Event::ToolCallResult(e) => own(&mut self.messages, &e.message_id, tag),
            Event::ActivitySnapshot(e)
                if e.replace != Some(false)
                    || !self.activities.contains_key(e.message_id.as_str()) =>
            {
                let owner = tag.map(str::to_owned);
                self.activities.insert(e.message_id.to_string(), owner);
            }
            Event::MessagesSnapshot(e) => {
                for message in &e.messages {
                    self.set_owner(message, true);
                }
            }
            _ => {}
        }
    }

    /// Checks that a run is active (O5) and has begun with `RUN_STARTED` (O1).
    fn active(&self, kind: &str) -> Result<(), Violation> {
        let (rule, why) = match self.phase {
            Phase::Active => return Ok(()),
            Phase::Fresh => (Rule::O1, "the first event must be RUN_STARTED or RUN_ERROR"),
            Phase::Finished => (
                Rule::O5,
                "the run has finished; only RUN_STARTED (of the next run) or RUN_ERROR may follow",
            ),
            Phase::Errored => (
                Rule::O5,
                "the run has failed; only RUN_STARTED (of the next run) may follow",
            ),
        };
        Err(Violation::new(
            rule,
            format!("{kind} may not come here: {why}"),
        ))
    }

    fn run_started(&mut self, history: &[Message]) -> Result<(), Violation> {
        if self.phase == Phase::Active {
            return Err(Violation::new(
                Rule::O2,
                "RUN_STARTED may not come while a run is going on: end that one with RUN_FINISHED or RUN_ERROR first",
            ));
        }
        *self = Self {
            phase: Phase::Active,
            ..Self::default()
        };
        for message in history {
            self.set_owner(message, false);
        }
        Ok(())
    }

    fn run_error(&mut self) -> Result<(), Violation> {
        if self.phase == Phase::Errored {
            return Err(Violation::new(
                Rule::O3,
                "RUN_ERROR may not come twice: the run has failed already",
            ));
        }
        self.close(Phase::Errored);
        Ok(())
    }

    fn run_finished(&mut self) -> Result<(), Violation> {
        if let Err(Violation { rule, message }) = self.active("RUN_FINISHED") {
            let rule = if rule == Rule::O5 { Rule::O4 } else { rule };
            return Err(Violation { rule, message });
        }
        let open = self.open_items();
        if !open.is_empty() {
            return Err(Violation::new(
                Rule::O4,
                format!("RUN_FINISHED may not come while something is open; end it first: {open}"),
            ));
        }
        self.close(Phase::Finished);
        Ok(())
    }

    /// Ends the run and forgets its items.
    fn close(&mut self, phase: Phase) {
        *self = Self {
            phase,
            ..Self::default()
        };
    }

    fn tool_call_start(
        &mut self,
        event: &ToolCallStart,
        tag: Option<&str>,
    ) -> Result<(), Violation> {
        let id = &event.tool_call_id;
        let parent = event.parent_message_id.as_ref();
        let parent = parent.and_then(|parent| self.messages.get_key_value(parent.as_str()));
        if let Some((parent, item)) = parent {
            owned_by(
                Rule::O8,
                ToolCallStart::KIND,
                "parent message",
                parent,
                tag,
                &item.owner,
            )?;
        }
        let Some(call) = self.tool_calls.get_mut(id.as_str()) else {
            let inherited = || parent.and_then(|(_, item)| item.owner.clone());
            let owner = tag.map(str::to_owned).or_else(inherited);
            self.tool_calls
                .insert(id.to_string(), Item { open: true, owner });
            return Ok(());
        };
        if call.open {
            return Err(already_open(Rule::O8, ToolCallStart::KIND, TOOL_CALL, id));
        }
        owned_by(
            Rule::O8,
            ToolCallStart::KIND,
            TOOL_CALL.name,
            id,
            tag,
            &call.owner,
        )?;
        if let (None, Some((parent, item))) = (tag, parent)
            && item.owner != call.owner
        {
            return Err(Violation::new(
                Rule::O8,
                format!(
                    "TOOL_CALL_START: tool call '{id}' belongs to {}, its parent message '{parent}' to {}; a call \
                     belongs to the agent whose message carries it",
                    Agent(call.owner.as_deref()),
                    Agent(item.owner.as_deref()),
                ),
            ));
        }
        call.open = true;
        Ok(())
    }

    fn step_started(&mut self, name: &str, tag: Option<&str>) -> Result<(), Violation> {
        if self.steps.insert(step(name, tag)) {
            return Ok(());
        }
        Err(Violation::new(
            Rule::O11,
            format!(
                "STEP_STARTED: step '{name}' of {} is open already; send STEP_FINISHED for it first",
                Agent(tag),
            ),
        ))
    }

    fn step_finished(&mut self, name: &str, tag: Option<&str>) -> Result<(), Violation> {
        if self.steps.remove(&step(name, tag)) {
            return Ok(());
        }
        Err(Violation::new(
            Rule::O12,
            format!(
                "STEP_FINISHED: {} has no open step '{name}'; a step is finished by the agent that started it",
                Agent(tag),
            ),
        ))
    }

    fn reasoning_start(&mut self, id: &str, tag: Option<&str>) -> Result<(), Violation> {
        const KIND: &str = "REASONING_START";
        if self.spans.contains(id) {
            return Err(already_open(Rule::O13, KIND, REASONING_SPAN, id));
        }
        match self.reasoning.get(id) {
            Some(item) => owned_by(Rule::O13, KIND, REASONING_SPAN.name, id, tag, &item.owner)?,
            None => own(&mut self.reasoning, id, tag),
        }
        self.spans.insert(id.to_owned());
        Ok(())
    }

    fn reasoning_end(&mut self, id: &str, tag: Option<&str>) -> Result<(), Violation> {
        const KIND: &str = "REASONING_END";
        if !self.spans.contains(id) {
            return Err(not_open(Rule::O14, KIND, REASONING_SPAN, id));
        }
        if let Some(item) = self.reasoning.get(id) {
            owned_by(Rule::O14, KIND, REASONING_SPAN.name, id, tag, &item.owner)?;
        }
        self.spans.remove(id);
        Ok(())
    }

    fn encrypted_value(
        &self,
        event: &ReasoningEncryptedValue,
        tag: Option<&str>,
    ) -> Result<(), Violation> {
        let id = event.entity_id.as_str();
        let (what, item) = match event.subtype {
            EncryptedValueSubtype::ToolCall => ("tool call", self.tool_calls.get(id)),
            EncryptedValueSubtype::Message => (
                "message",
                self.messages.get(id).or_else(|| self.reasoning.get(id)),
            ),
        };
        item.map_or(Ok(()), |item| {
            owned_by(
                Rule::O17,
                ReasoningEncryptedValue::KIND,
                what,
                id,
                tag,
                &item.owner,
            )
        })
    }

    fn subagent_started(&mut self, event: &SubagentStarted) -> Result<(), Violation> {
        let id = &event.subagent_run_id;
        let refuse = |why: String| {
            Err(Violation::new(
                Rule::O20,
                format!("SUBAGENT_STARTED: {why}"),
            ))
        };
        if let Some(active) = self.subagents.get(id) {
            let state = if *active { "active" } else { "over" };
            return refuse(format!(
                "subagent '{id}' is {state} already; each invocation needs an id of its own"
            ));
        }
        if let Some(parent) = &event.parent_subagent_run_id
            && !self.subagents.contains_key(parent)
        {
            return refuse(format!(
                "the parent '{parent}' of subagent '{id}' has not been started in this run"
            ));
        }
        self.subagents.insert(id.clone(), true);
        Ok(())
    }

    fn subagent_ended(&mut self, kind: &str, id: &str) -> Result<(), Violation> {
        match self.subagents.get_mut(id) {
            Some(active) if *active => {
                *active = false;
                Ok(())
            }
            Some(_) => Err(Violation::new(
                Rule::O21,
                format!("{kind}: subagent '{id}' is over already"),
            )),
            None => Err(Violation::new(
                Rule::O21,
                format!("{kind}: subagent '{id}' was never started; send SUBAGENT_STARTED first"),
            )),
        }
    }

    /// Takes note of whose a message from the history is, and its tool calls with it. A snapshot overrules what was
    /// known; the request's history does not.
    fn set_owner(&mut self, message: &Message, overrule: bool) {
        let owner = message.subagent_run_id();
        if let Message::Activity(activity) = message {
            if overrule || !self.activities.contains_key(activity.id.as_str()) {
                self.activities
                    .insert(activity.id.to_string(), owner.map(str::to_owned));
            }
            return;
        }
        let items = match message {
            Message::Reasoning(_) => &mut self.reasoning,
            _ => &mut self.messages,
        };
        if overrule || !items.contains_key(message.id().as_str()) {
            own(items, message.id(), owner);
        }
        if let Message::Assistant(message) = message {
            for call in &message.tool_calls {
                if overrule || !self.tool_calls.contains_key(call.id.as_str()) {
                    own(&mut self.tool_calls, &call.id, owner);
                }
            }
        }
    }
}

fn step(name: &str, tag: Option<&str>) -> OpenStep {
    OpenStep {
        subagent_run_id: tag.map(str::to_owned),
        name: name.to_owned(),
    }
}
