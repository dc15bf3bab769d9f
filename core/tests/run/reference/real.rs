//! The real run under the reference's steps: real bytes in, and what comes out compared.

use super::*;

pub(super) struct Real {
    machine: RunMachine,
    config: Arc<RunConfig>,
    hands: BTreeSet<EffectId>,
    /// Of the hop's stream.
    calls: usize,
    ends: usize,
}

fn chunk(delta: &Value) -> String {
    format!(
        "data: {}\n\n",
        json!({"id": "x", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
    )
}

impl Real {
    fn stream(&self) -> EffectId {
        *self.hands.first().expect("a stream is in the hands")
    }

    fn input(&mut self, step: &Step) -> Input<'static> {
        let message = "the network is gone".to_owned();
        let received = |effect, text: String| Input::Received {
            effect,
            bytes: text.into_bytes().into(),
        };
        match step {
            Step::Start => Input::Start(Box::new(Start::new(
                "run-1",
                Message::user("user-1", "Hello"),
            ))),
            Step::Opened => {
                self.calls = 0;
                Input::Opened {
                    effect: self.stream(),
                    content_type: None,
                }
            }
            Step::Refused {
                status,
                retry_after,
            } => Input::Refused {
                effect: self.stream(),
                refusal: Refusal {
                    status: *status,
                    retry_after: retry_after.map(Duration::from_secs),
                    body: Vec::new(),
                },
            },
            Step::ConnectionFailed => Input::ConnectionFailed {
                effect: self.stream(),
                message,
            },
            Step::Heartbeat => received(self.stream(), ": still here\n\n".into()),
            Step::Text => received(self.stream(), chunk(&json!({"content": "Läßt 🙂. "}))),
            Step::Calls(asked) => {
                let mut text = String::new();
                for asked in asked {
                    let (name, arguments) = match asked {
                        Asked::Work => ("work", "{}"),
                        Asked::Look => ("look", "null"),
                        Asked::Invented => ("invented", "{}"),
                        Asked::Broken => ("work", "{\"a\":"),
                    };
                    let id = format!("h{}c{}", self.machine.hop(), self.calls);
                    let function = json!({"name": name, "arguments": arguments});
                    let call = json!({"index": self.calls, "id": id, "type": "function", "function": function});
                    text.push_str(&chunk(&json!({"tool_calls": [call]})));
                    self.calls += 1;
                }
                received(self.stream(), text)
            }
            Step::Done => {
                let reason = if self.calls > 0 { "tool_calls" } else { "stop" };
                let last = json!({"id": "x", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
                received(self.stream(), format!("data: {last}\n\ndata: [DONE]\n\n"))
            }
            Step::Ended => Input::Ended {
                effect: self.stream(),
            },
            Step::Lost => Input::Lost {
                effect: self.stream(),
                message,
            },
            Step::Tool { index, ok } => {
                let call = CallKey {
                    hop: self.machine.hop(),
                    index: *index,
                };
                let result = if *ok {
                    Ok("it gave this".into())
                } else {
                    Err(ToolFailure::error("it failed"))
                };
                Input::ToolFinished {
                    effect: EffectId::Tool(call),
                    result,
                }
            }
            Step::Late(call) => Input::ToolFinished {
                effect: EffectId::Tool(*call),
                result: Ok("too late".into()),
            },
            Step::Timeout | Step::TooEarly => Input::Timeout,
            Step::Cancel => Input::Cancel,
            Step::Restore | Step::Revive => unreachable!("no input"),
        }
    }

    /// Takes the outputs; gives the effects whose answers were dropped.
    fn take_outputs(&mut self) -> Vec<EffectId> {
        let mut dropped = Vec::new();
        while let Some(output) = self.machine.poll_output() {
            match output {
                Output::Effect(id, Effect::CloseStream | Effect::CancelTool) => {
                    assert!(
                        self.hands.remove(&id),
                        "{id} is stopped, and was not given out"
                    );
                }
                Output::Effect(id, _) => assert!(self.hands.insert(id), "{id} is given out twice"),
                Output::Event(RunEvent::AnswerDropped { effect }) => dropped.push(effect),
                Output::Event(RunEvent::Completed(_)) => self.ends += 1,
                Output::Event(_) | Output::Moved(_) => {}
            }
        }
        dropped
    }

    fn timers(&self) -> Vec<(TimerKey, u64)> {
        let snapshot: Value = serde_json::from_str(&self.machine.snapshot()).expect("JSON");
        serde_json::from_value(snapshot["run"]["core"]["clocks"]["deadlines"].clone())
            .expect("pairs")
    }

    fn end(&self) -> Option<End> {
        Some(match self.machine.outcome()? {
            Outcome::Success => "success",
            Outcome::LimitReached { .. } => "max rounds",
            Outcome::Cancelled => "cancelled",
            Outcome::Truncated => "truncated",
            Outcome::Incomplete {
                reason: Incomplete::Empty,
            } => "empty",
            Outcome::Failed { failure } => match failure {
                Failure::Api { .. } => "refused",
                Failure::Connection { .. } => "connection",
                Failure::TimedOut {
                    deadline: Deadline::Silence,
                } => "silent",
                Failure::TimedOut {
                    deadline: Deadline::Turn,
                } => "turn too long",
                Failure::LimitReached { .. } => "too many rounds",
                Failure::OutputInvalid { .. } => "unreadable",
                _ => "something else",
            },
            _ => "something new",
        })
    }
}

impl StateMachineTest for Real {
    type SystemUnderTest = Self;
    type Reference = Reference;

    fn init_test(reference: &Reference) -> Self {
        let mut config = config(Dialect::OpenAiChat);
        offer(&mut config, Tool::new("work", "Works."));
        offer(&mut config, Tool::new("look", "Looks.").idempotent());
        config.limits.max_tool_rounds = reference.limit;
        config.limits.at_limit = reference.policy;
        config.limits.repeats = None;
        config.limits.max_parallel_tools = reference.room;
        config.retry.attempts = reference.attempts;
        let row = Retry {
            attempts: reference.rate_limit,
            ..Retry::after(ErrorKind::RateLimit)
        };
        config.retry = config.retry.with(row);
        config.retry.first_delay = Duration::from_millis(FIRST_DELAY);
        config.retry.max_retry_after = Duration::from_secs(MAX_RETRY_AFTER);
        config.timeouts.silence = Some(Duration::from_millis(SILENCE));
        config.timeouts.closing = Some(Duration::from_millis(CLOSING));
        config.timeouts.tool = Some(Duration::from_millis(TOOL));
        config.timeouts.turn = reference
            .has_turn_clock
            .then_some(Duration::from_millis(TURN));
        let config = Arc::new(config);
        let machine = RunMachine::new(Arc::clone(&config), "thread".into(), Transcript::default());
        Self {
            machine,
            config,
            hands: BTreeSet::new(),
            calls: 0,
            ends: 0,
        }
    }

    fn apply(mut real: Self, reference: &Reference, step: Step) -> Self {
        let now = Timestamp(reference.now);
        let config = Arc::clone(&real.config);
        let before = real.machine.snapshot();
        match step {
            Step::Restore => {
                real.machine = RunMachine::restore(&before, config).expect("readable");
                assert_eq!(real.machine.snapshot(), before);
            }
            Step::Revive => {
                real.machine = RunMachine::revive(&before, config, now).expect("readable");
                real.hands.clear();
            }
            ref step => {
                let input = real.input(step);
                let answered = input.effect();
                let goes_on = matches!(input, Input::Opened { .. } | Input::Received { .. });
                if let Some(effect) = answered.filter(|_| !goes_on) {
                    real.hands.remove(&effect);
                }
                assert_eq!(real.machine.handle(input, now), Ok(()), "{step:?}");
            }
        }
        let dropped = real.take_outputs();
        assert_eq!(
            !dropped.is_empty(),
            reference.dropped,
            "{step:?} dropped {dropped:?}"
        );
        real
    }

    fn check_invariants(real: &Self, reference: &Reference) {
        let machine = &real.machine;
        let state = match reference.phase {
            Phase::Idle => StateKind::Idle,
            Phase::Opening => StateKind::Opening,
            Phase::Waiting => StateKind::Waiting,
            Phase::Streaming { .. } => StateKind::Streaming,
            Phase::Tools => StateKind::ExecutingTools,
            Phase::Over(_) => StateKind::Completed,
        };
        assert_eq!(machine.state(), state);
        let end = if let Phase::Over(end) = reference.phase {
            Some(end)
        } else {
            None
        };
        assert_eq!(real.end(), end);
        assert_eq!(real.ends, usize::from(end.is_some()));
        assert_eq!(machine.hop(), reference.hop);
        assert_eq!(real.hands, reference.hands());
        assert_eq!(real.timers(), reference.timers());
        let next = machine.poll_timeout().map(|at| at.0);
        assert_eq!(next, reference.next_deadline());
        assert_eq!(machine.transcript().text(), reference.text);
        let results = machine
            .transcript()
            .messages()
            .iter()
            .filter_map(|message| match message {
                Message::Tool(message) => {
                    Some((message.tool_call_id.to_string(), message.content.to_text()))
                }
                _ => None,
            });
        let results: Vec<_> = results.collect();
        let ids: Vec<_> = results.iter().map(|(id, _)| id).collect();
        assert_eq!(
            ids,
            reference
                .settled
                .iter()
                .map(|(id, _)| id)
                .collect::<Vec<_>>()
        );
        for ((id, text), (_, expected)) in results.iter().zip(&reference.settled) {
            assert!(
                text.contains(expected),
                "{id}: {text:?} does not say {expected:?}"
            );
        }
        if end.is_some() || reference.calls.is_empty() {
            assert_eq!(check_history(machine.transcript().messages()), Ok(()));
        }
    }
}
