//! What a mad host does, in every state: late, double and stale answers, answers of the wrong kind, inputs in the
//! wrong state. All of it leaves the run as it is. And a snapshot that is read again is the same run.

use crate::world::{Hand, World, answer};
use std::borrow::Cow;
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;
use stepwell_core::event::Message;
use stepwell_core::run::{
    Decision, Effect, EffectId, HookAnswer, HookPlace, Input, Misuse, Output, Question, Refusal,
    RunEvent, RunMachine, Start, StateKind, UserAnswer,
};
use stepwell_core::{CallKey, Timestamp};

/// The required reaction to a mad input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Must {
    /// The input is dropped, with a warning.
    Drop,
    /// The same, of a call that is not there to be stopped.
    DropCall,
    /// The input is refused as the host's mistake.
    Refuse,
    /// Nothing at all.
    Nothing,
}

impl World {
    /// Checks I4: the run restored from its snapshot is the same run. The world continues with the restored one.
    pub fn restore(&mut self) {
        let text = self.machine.snapshot();
        match RunMachine::restore(&text, Arc::clone(&self.bounds.config)) {
            Ok(machine) if machine.snapshot() == text => self.machine = machine,
            Ok(machine) => self.wrong(format!(
                "I4: a restored run differs:\n  {text}\n  {}",
                machine.snapshot()
            )),
            Err(error) => self.wrong(format!("I4: a snapshot cannot be read: {error}")),
        }
    }

    /// Feeds everything mad to a copy of the run.
    pub fn go_mad(&mut self) {
        let before = canon(self, &self.machine);
        let mut machine = self.machine.clone();
        self.leave();
        let inputs = self.mad_inputs();
        if let Some(fault) = inputs
            .iter()
            .find_map(|(input, must)| self.feed(&mut machine, input, *must))
        {
            return self.wrong(fault);
        }
        if canon(self, &machine) == before {
            return;
        }
        // Which one was it?
        for (input, must) in &inputs {
            let mut machine = self.machine.clone();
            self.feed(&mut machine, input, *must);
            if canon(self, &machine) != before {
                let name = input.name();
                let effect = input
                    .effect()
                    .map_or_else(String::new, |id| format!(" to {id}"));
                return self.wrong(format!("a mad {name}{effect} changes the run"));
            }
        }
    }

    /// Lets the host leave: its effects are stopped, nothing else happens, and the run can continue elsewhere.
    fn leave(&mut self) {
        let mut machine = self.machine.clone();
        let before = machine.snapshot();
        let mut result = machine.handle(Input::Dispose, Timestamp(self.now));
        let mut stopped = Vec::new();
        while let Some(output) = machine.poll_output() {
            match output {
                Output::Effect(id, Effect::CloseStream | Effect::CancelTool) => stopped.push(id),
                Output::Event(RunEvent::SteeringRefused { .. }) => {}
                other => return self.wrong(format!("a host that goes away is given {other:?}")),
            }
        }
        let begun = |hand: &Hand| {
            matches!(
                hand,
                Hand::Request
                    | Hand::Rest(..)
                    | Hand::Stream(_)
                    | Hand::Tool
                    | Hand::Approval
                    | Hand::Key
                    | Hand::Choice
                    | Hand::Question
                    | Hand::Hook
            )
        };
        let wanted: Vec<_> = self
            .hands
            .iter()
            .filter(|(_, hand)| begun(hand))
            .map(|(id, _)| *id)
            .collect();
        result = result.and_then(|()| machine.handle(Input::Dispose, Timestamp(self.now)));
        let late = machine.handle(Input::Cancel, Timestamp(self.now));
        let is_same = !self.ghost.typed.is_empty() || machine.snapshot() == before;
        let is_right = result.is_ok() && matches!(late, Err(Misuse::Disposed { .. }));
        if !is_right || stopped != wanted || !is_same || machine.poll_output().is_some() {
            self.wrong(format!(
                "a host that goes away: {result:?}, {late:?}, stops {stopped:?} of {wanted:?}, the run is the same: {is_same}"
            ));
        }
    }

    fn feed(&self, machine: &mut RunMachine, input: &Input<'_>, must: Must) -> Option<String> {
        let result = machine.handle(input.clone(), Timestamp(self.now));
        let outputs: Vec<_> = std::iter::from_fn(|| machine.poll_output()).collect();
        let dropped = match &outputs[..] {
            [Output::Event(RunEvent::AnswerDropped { effect })] => Some(*effect) == input.effect(),
            _ => false,
        };
        let is_right = match must {
            Must::Drop => result.is_ok() && dropped,
            Must::DropCall => {
                let is_told =
                    matches!(outputs[..], [Output::Event(RunEvent::AnswerDropped { .. })]);
                result.is_ok() && is_told
            }
            Must::Refuse => result.is_err() && result != Err(Misuse::Broken) && outputs.is_empty(),
            Must::Nothing => result.is_ok() && outputs.is_empty(),
        };
        (!is_right).then(|| {
            let effect = input
                .effect()
                .map_or_else(String::new, |id| format!(" to {id}"));
            format!(
                "contract: a mad {}{effect} must {must:?}, and leads to {result:?}, {outputs:?}",
                input.name()
            )
        })
    }

    fn mad_inputs(&self) -> Vec<(Input<'static>, Must)> {
        let mut inputs = Vec::new();
        let state = self.machine.state();
        if state != StateKind::Idle {
            let start = Start::new("r2", Message::user("u2", "h"));
            inputs.push((Input::Start(Box::new(start)), Must::Refuse));
        }
        // A call that there is not.
        let call = CallKey { hop: 90, index: 0 };
        if state != StateKind::Idle {
            inputs.push((Input::CancelCall { call }, Must::DropCall));
        }
        if state == StateKind::Completed {
            inputs.push((Input::Cancel, Must::Nothing));
        }
        if state == StateKind::Interrupted {
            for answers in [vec![], vec![answer("x")], vec![answer("q"), answer("q")]] {
                inputs.push((Input::Resume(answers), Must::Refuse));
            }
        } else {
            inputs.push((Input::Resume(vec![answer("q")]), Must::Refuse));
        }
        if self.machine.due_timers(Timestamp(self.now)).is_empty() {
            inputs.push((Input::Timeout, Must::Nothing));
        }
        // Edited arguments that do not fit: the user is still asked.
        for (effect, hand) in &self.hands {
            if matches!(hand, Hand::Approval) {
                let arguments = "[".to_owned();
                let decision = Decision::Edited { arguments };
                let effect = *effect;
                inputs.push((Input::Decided { effect, decision }, Must::Refuse));
            }
        }
        // An answer that does not fit, where schemas are checked: the user is still asked.
        let misfit = serde_json::Value::from(7);
        let is_checked = Question::yes_or_no("q").check(&misfit).is_err();
        for (effect, hand) in &self.hands {
            if is_checked && matches!(hand, Hand::Question) {
                let value = misfit.clone();
                let answer = UserAnswer::Given { value };
                let effect = *effect;
                inputs.push((Input::UserAnswered { effect, answer }, Must::Refuse));
            }
        }
        for id in self.ids() {
            for input in answers(id) {
                let is_of_body = matches!(
                    input,
                    Input::Received { .. } | Input::Ended { .. } | Input::Lost { .. }
                );
                // The inputs that only a running tool can send.
                let defers = matches!(
                    input,
                    Input::ToolDeferred { .. }
                        | Input::ToolProgress { .. }
                        | Input::ToolAsks { .. }
                );
                match (self.hand(id), is_of_body) {
                    (Some(Hand::Deferred), _) if defers => inputs.push((input, Must::Drop)),
                    (None, _) | (Some(Hand::Stream(_)), false) => inputs.push((input, Must::Drop)),
                    (Some(Hand::Request | Hand::Rest(..)), true) => {
                        inputs.push((input, Must::Refuse));
                    }
                    _ => {}
                }
            }
        }
        // The answer to another kind of effect.
        for (id, _) in &self.hands {
            let wrong = match id {
                EffectId::Tool(_) => Input::Persisted { effect: *id },
                _ => Input::ToolFinished {
                    effect: *id,
                    result: Ok("wrong".into()),
                },
            };
            inputs.push((wrong, Must::Refuse));
        }
        inputs
    }

    /// Every id that an effect of this hop, of the one before or of the next may have.
    fn ids(&self) -> Vec<EffectId> {
        let mut ids = Vec::new();
        let hop = self.machine.hop();
        for hop in hop.saturating_sub(1)..=hop + 1 {
            ids.extend([EffectId::CreateRun { hop }, EffectId::Output { hop }]);
            let hooks = [HookPlace::Request { hop }, HookPlace::Answer { hop }];
            ids.extend(hooks.map(|place| EffectId::Hook { place, hook: 0 }));
            for attempt in
                0..self.bounds.config.retry.max_attempts() + u32::from(self.bounds.device)
            {
                ids.push(EffectId::Open { hop, attempt });
                ids.push(EffectId::Authorize { hop, attempt });
            }
            for index in 0..u32::from(self.bounds.calls) {
                let call = CallKey { hop, index };
                let ask = EffectId::Ask { call, number: 0 };
                ids.extend([EffectId::Approve(call), EffectId::Tool(call), ask]);
                let hooks = [HookPlace::Call(call), HookPlace::Result(call)];
                ids.extend(hooks.map(|place| EffectId::Hook { place, hook: 0 }));
            }
        }
        let durable = self.machine.durable();
        for sequence in durable.saturating_sub(1)..=durable + 1 {
            ids.push(EffectId::Persist { sequence });
        }
        ids
    }
}

fn answers(effect: EffectId) -> Vec<Input<'static>> {
    let message = || "late".to_owned();
    match effect {
        EffectId::CreateRun { .. } => vec![Input::RunCreated {
            effect,
            run_id: "late".into(),
        }],
        EffectId::Open { .. } => vec![
            Input::Opened {
                effect,
                content_type: None,
            },
            Input::Refused {
                effect,
                refusal: Refusal::default(),
            },
            Input::Received {
                effect,
                bytes: Cow::Borrowed(b"data: [DONE]\n\n"),
            },
            Input::Ended { effect },
            Input::Lost {
                effect,
                message: message(),
            },
        ],
        EffectId::ChooseModel { .. } => vec![
            Input::ModelChosen { effect, model: 0 },
            Input::ModelNotChosen {
                effect,
                message: message(),
            },
        ],
        EffectId::Authorize { .. } => vec![
            Input::Authorized {
                effect,
                authorization: "late".into(),
            },
            Input::NotAuthorized {
                effect,
                message: message(),
            },
        ],
        EffectId::Tool(_) => vec![
            Input::ToolDeferred { effect },
            Input::ToolProgress {
                effect,
                fraction: None,
                message: None,
            },
            Input::ToolAsks {
                effect,
                number: 1,
                question: "late".into(),
            },
            Input::ToolFinished {
                effect,
                result: Ok("late".into()),
            },
        ],
        EffectId::Output { .. } => vec![
            Input::OutputDecoded { effect },
            Input::OutputRefused {
                effect,
                reason: message(),
            },
        ],
        EffectId::Hook { .. } => [HookAnswer::GoOn, HookAnswer::refuse("late")]
            .map(|answer| Input::HookAnswered { effect, answer })
            .into(),
        EffectId::Ask { .. } => vec![Input::UserAnswered {
            effect,
            answer: UserAnswer::declined(message()),
        }],
        EffectId::Approve(_) => vec![Input::Decided {
            effect,
            decision: Decision::Granted,
        }],
        EffectId::Persist { .. } => vec![
            Input::Persisted { effect },
            Input::PersistFailed {
                effect,
                message: message(),
            },
        ],
        other => panic!("an effect that the world does not know: {other}"),
    }
}

fn canon(world: &World, machine: &RunMachine) -> u64 {
    let mut out = DefaultHasher::new();
    let mut abstraction = world.bounds.abstraction;
    abstraction.results = false;
    machine.canon(&abstraction, &mut out);
    out.finish()
}
