use super::*;
use stepwell_core::conversation::Conversation;

fn config() -> Arc<run::RunConfig> {
    let provider = stepwell_core::provider::find("openai-compatible").unwrap();
    let endpoint = provider.endpoint(None, "mock", Some("http://localhost/v1"), None);
    Arc::new(run::RunConfig::new(endpoint.unwrap()))
}

fn machine() -> Arc<RunMachine> {
    let history = Conversation::default();
    RunMachine::of(run::RunMachine::new(config(), "thread".into(), history))
}

#[test]
fn a_panic_is_an_error_and_leaves_the_run_broken() {
    let machine = machine();
    let first = machine.lock().attempt(|_, _, _| panic!("half-way"));
    let Err(StepwellError::Broken { reason, advice }) = first else {
        panic!("{first:?}");
    };
    assert!(reason.contains("half-way"), "{reason}");
    assert!(advice.contains("snapshot"), "{advice}");

    assert_eq!(machine.state(), StateKind::Broken);
    assert_eq!(
        (machine.text(), machine.messages_json()),
        (String::new(), "[]".to_owned())
    );
    assert_eq!((machine.outcome(), machine.poll_timeout()), (None, None));
    assert!(matches!(
        machine.cancel(0),
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
    assert!(machine.cancel(0).is_ok());
}

#[test]
fn what_a_refused_call_had_drained_comes_with_the_next() {
    let machine = machine();
    let start = Start {
        parent_run_id: None,
        run_id: "run".into(),
        text: Some("Hi".into()),
        message_json: None,
        resume: Vec::new(),
    };
    machine.start(start, 0).unwrap();
    let snapshot = machine.snapshot().unwrap();
    let revived = run::RunMachine::revive(&snapshot, config(), Timestamp(1)).unwrap();
    let revived = RunMachine::of(revived);
    assert!(revived.ended("open:0:0", 2).is_err());
    let outputs = revived.timeout(3).unwrap();
    assert!(matches!(outputs.effects[..], [Effect::OpenStream { .. }]));
}
