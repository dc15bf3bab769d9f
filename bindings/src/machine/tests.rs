use super::*;
use crate::config::TurnOptions;
use crate::hook::HookAnswer;
use crate::question::Question;
use crate::state::StateKind;
use std::collections::HashMap;
use stepwell_core::run::Input;
use stepwell_core::transcript::Transcript;

fn config() -> Arc<run::RunConfig> {
    let provider = stepwell_core::provider::find("openai-compatible").unwrap();
    let endpoint = provider.endpoint(None, "mock", Some("http://localhost/v1"), None);
    Arc::new(run::RunConfig::new(endpoint.unwrap()))
}

fn machine() -> Arc<RunMachine> {
    let history = Transcript::default();
    RunMachine::of(GuardedRun::new(config(), "thread".into(), history, false))
}

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn json(text: &str) -> JsonValue {
    JsonValue::from_text(text.to_owned())
}

fn start() -> Start {
    Start {
        parent_run_id: None,
        run_id: "run".into(),
        text: Some("Hi".into()),
        message: None,
        resume: Vec::new(),
        options: TurnOptions::default(),
        parts: Vec::new(),
    }
}

#[test]
fn a_panic_is_an_error_and_leaves_the_run_broken() {
    let machine = machine();
    assert!(machine.start(start(), at(0)).is_ok());
    let cancel = Some((Input::Cancel, at(0).into()));
    let first = (machine.lock().run).handle(cancel, |_| panic!("half-way"));
    let Err(StepwellError::Broken { reason, advice }) = first else {
        panic!("{first:?}");
    };
    assert!(reason.contains("half-way"), "{reason}");
    assert!(advice.contains("snapshot"), "{advice}");

    assert_eq!(machine.state(), StateKind::Broken);
    assert_eq!(
        (machine.text(), machine.messages()),
        (String::new(), json("[]"))
    );
    assert_eq!((machine.outcome(), machine.poll_timeout()), (None, None));
    assert!(matches!(
        machine.cancel(at(0)),
        Err(StepwellError::Broken { .. })
    ));
    assert!(matches!(
        machine.snapshot(),
        Err(StepwellError::Broken { .. })
    ));
}

#[test]
fn a_poisoned_lock_is_no_end() {
    let machine = machine();
    let other = Arc::clone(&machine);
    let poisoned = std::thread::spawn(move || {
        let _inner = other.lock();
        panic!("elsewhere");
    });
    assert!(poisoned.join().is_err());
    assert_eq!(machine.state(), StateKind::Idle);
    assert!(machine.cancel(at(0)).is_ok());
}

#[test]
fn what_a_refused_call_had_drained_comes_with_the_next() {
    let machine = machine();
    machine.start(start(), at(0)).unwrap();
    let snapshot = machine.snapshot().unwrap();
    let revived = GuardedRun::revive(&snapshot, &config(), at(1).into(), false).unwrap();
    let revived = RunMachine::of(revived);
    assert!(revived.ended("open:0:0", at(2)).is_err());
    let outputs = revived.timeout(at(3)).unwrap();
    assert!(matches!(outputs.effects[..], [Effect::OpenStream { .. }]));
}

/// Calls the methods for this input: an input without a method does not compile.
fn tell(run: &RunMachine, input: &Input<'_>) -> Vec<Result<Outputs, StepwellError>> {
    let words = || "Words.".to_owned();
    match input {
        Input::Start(_) => vec![run.start(start(), at(1))],
        Input::RunCreated { .. } => vec![run.run_created("create_run:1", "run".to_owned(), at(1))],
        Input::RunNotCreated { .. } => vec![run.run_not_created("create_run:1", words(), at(1))],
        Input::Opened { .. } => vec![run.opened("open:0:0", None, at(1))],
        Input::Refused { .. } => vec![run.refused("open:0:0", 500, b"", at(1), None)],
        Input::ConnectionFailed { .. } => vec![run.connection_failed("open:0:0", words(), at(1))],
        Input::Received { .. } => vec![run.receive("open:0:0", b"", at(1))],
        Input::Ended { .. } => vec![run.ended("open:0:0", at(1))],
        Input::Lost { .. } => vec![run.lost("open:0:0", words(), at(1))],
        Input::ToolFinished { .. } => {
            let parts = r#"[{"type":"text","text":"42"}]"#;
            vec![
                run.tool_finished("tool:0:0", "42".to_owned(), at(1)),
                run.tool_finished_parts("tool:0:0", json(parts), at(1)),
                run.tool_failed("tool:0:0", words(), at(1), None),
            ]
        }
        Input::ToolDeferred { .. } => vec![run.tool_deferred("tool:0:0", at(1))],
        Input::ToolProgress { .. } => {
            vec![run.tool_progress("tool:0:0", Some(0.5), Some(words()), at(1))]
        }
        Input::ToolPartialResult { .. } => {
            vec![run.tool_partial_result("tool:0:0", words(), at(1))]
        }
        Input::ToolAsks { .. } => {
            let question = Question {
                message: words(),
                schema: json("{}"),
            };
            vec![run.tool_asks("tool:0:0", 0, question, at(1))]
        }
        Input::UserAnswered { .. } => vec![
            run.answer("ask:0:0:0", json("7"), at(1)),
            run.decline("ask:0:0:0", None, at(1)),
        ],
        Input::Decided { .. } => vec![
            run.approve("approve:0:0", at(1), None),
            run.approve("approve:0:0", at(1), Some(json("{}"))),
            run.deny("approve:0:0", None, at(1)),
        ],
        Input::Persisted { .. } => vec![run.persisted("persist:0", at(1))],
        Input::PersistFailed { .. } => vec![run.persist_failed("persist:0", words(), at(1))],
        Input::Resume(_) => vec![run.resume(Vec::new(), at(1))],
        Input::Cancel => vec![run.cancel(at(1))],
        Input::CancelCall { call } => vec![run.cancel_call((*call).into(), at(1))],
        Input::Steer(_) => {
            let message = r#"{"id":"m","role":"user","content":"Stop"}"#;
            vec![
                run.steer("message".to_owned(), words(), at(1)),
                run.steer_message(json(message), at(1)),
            ]
        }
        Input::Shown(_) => vec![run.shown(json("[]"), at(1))],
        Input::EnteredBackground => vec![run.entered_background(at(1))],
        Input::EnteredForeground => vec![run.entered_foreground(at(1))],
        Input::NetworkLost => vec![run.network_lost(at(1))],
        Input::NetworkAvailable => vec![run.network_available(at(1))],
        Input::ModelResting { .. } => vec![run.model_resting(1, at(9), at(1))],
        Input::ModelChosen { .. } => vec![run.model_chosen("choose_model:0", 1, at(1))],
        Input::ModelNotChosen { .. } => {
            vec![run.model_not_chosen("choose_model:0", words(), at(1))]
        }
        Input::ContextTrimmed { .. } => {
            vec![run.context_trimmed("trim:0", Vec::new(), at(1), None)]
        }
        Input::ContextNotTrimmed { .. } => vec![run.context_not_trimmed("trim:0", words(), at(1))],
        Input::Authorized { .. } => {
            vec![run.authorized("authorize:0:0", Some(words()), at(1), HashMap::new())]
        }
        Input::NotAuthorized { .. } => vec![run.not_authorized("authorize:0:0", words(), at(1))],
        Input::HookAnswered { .. } => {
            vec![run.hook_answered("hook:after_answer:0:0", HookAnswer::GoOn, at(1))]
        }
        Input::OutputDecoded { .. } => vec![run.output_decoded("output:0", at(1))],
        Input::OutputRefused { .. } => vec![run.output_refused("output:0", words(), at(1))],
        Input::Timeout => vec![run.timeout(at(1))],
        // A disposed run refuses all other inputs.
        Input::Dispose => vec![run.dispose(at(1))],
    }
}

/// Inputs with the same fields could be mistaken for each other.
#[test]
fn each_method_is_the_input_of_its_name() {
    let effect = run::EffectId::Open { hop: 0, attempt: 0 };
    let words = || "Words.".to_owned();
    let message = stepwell_core::event::Message::user("message", "Stop");
    let call = stepwell_core::CallKey { hop: 0, index: 0 };
    let run = machine();
    let refusal = run::Refusal {
        status: 500,
        retry_after: None,
        body: Vec::new(),
    };
    let inputs = [
        Input::Start(Box::new(
            start()
                .into_core(&run.lock().run.config().unwrap())
                .unwrap(),
        )),
        Input::RunCreated {
            effect,
            run_id: "run".into(),
        },
        Input::RunNotCreated {
            effect,
            message: words(),
        },
        Input::Opened {
            effect,
            content_type: None,
        },
        Input::Refused { effect, refusal },
        Input::ConnectionFailed {
            effect,
            message: words(),
        },
        Input::Received {
            effect,
            bytes: b"".into(),
        },
        Input::Ended { effect },
        Input::Lost {
            effect,
            message: words(),
        },
        Input::ToolFinished {
            effect,
            result: Ok(words().into()),
        },
        Input::ToolDeferred { effect },
        Input::ToolProgress {
            effect,
            fraction: None,
            message: None,
        },
        Input::ToolPartialResult {
            effect,
            output: words().into(),
        },
        Input::ToolAsks {
            effect,
            number: 0,
            question: words().into(),
        },
        Input::UserAnswered {
            effect,
            answer: run::UserAnswer::declined(words()),
        },
        Input::Decided {
            effect,
            decision: run::Decision::Granted,
        },
        Input::Persisted { effect },
        Input::PersistFailed {
            effect,
            message: words(),
        },
        Input::Resume(Vec::new()),
        Input::Cancel,
        Input::CancelCall { call },
        Input::Steer(Box::new(message)),
        Input::Shown(Vec::new()),
        Input::EnteredBackground,
        Input::EnteredForeground,
        Input::NetworkLost,
        Input::NetworkAvailable,
        Input::ContextTrimmed {
            effect,
            keep: Vec::new(),
            summary: None,
        },
        Input::ContextNotTrimmed {
            effect,
            message: words(),
        },
        Input::Authorized {
            effect,
            authorization: words().into(),
        },
        Input::NotAuthorized {
            effect,
            message: words(),
        },
        Input::HookAnswered {
            effect,
            answer: run::HookAnswer::GoOn,
        },
        Input::OutputDecoded { effect },
        Input::OutputRefused {
            effect,
            reason: words(),
        },
        Input::Timeout,
    ];
    run.dispose(at(1)).unwrap();
    // A disposed run names each input that it refuses.
    for input in inputs {
        for told in tell(&run, &input) {
            let Err(StepwellError::Misuse { reason, advice }) = told else {
                panic!("{} was taken after the end", input.name());
            };
            assert_eq!(reason.split(' ').next(), Some(input.name()));
            assert!(advice.contains("revive"), "{advice}");
        }
    }
}
