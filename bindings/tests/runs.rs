//! Registries, journals, results that are more than text, and the list of providers.
#![allow(clippy::unwrap_used)]

mod support;

use std::sync::Arc;
use stepwell_ffi::{
    ApiErrorKind, Deadline, Duration, Effect, Failure, JsonValue, Outcome, Registered,
    RegistryEvent, RunMachine, RunRegistry, Start, StateKind, StepwellError, ThreadKey, Timestamp,
    TurnLimit, TurnOptions, context_window, providers, redact_journal, replay_journal,
};
use support::{config, definition};

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn key(thread: &str) -> ThreadKey {
    ThreadKey {
        thread: thread.to_owned(),
        room: "room".to_owned(),
        ..ThreadKey::default()
    }
}

fn is_stale<T>(result: &Result<T, StepwellError>) -> bool {
    matches!(result, Err(StepwellError::Stale { .. }))
}

#[test]
fn a_thread_has_one_owner() {
    let registry = RunRegistry::new();
    registry.look_at(Some(key("a")));
    assert_eq!(registry.looked_at(), Some(key("a")));
    let first = registry.register(key("a")).handle;
    let Registered { handle, replaced } = registry.register(key("a"));
    assert_eq!(replaced.as_ref(), Some(&first));
    assert!(is_stale(&registry.check(first.clone())));
    assert!(is_stale(&registry.replace(first.clone())));
    assert!(is_stale(
        &registry.complete(first.clone(), Outcome::Success)
    ));
    registry.disposal_failed(first.clone(), "no").unwrap();

    let continued = registry.replace(handle.clone()).unwrap();
    assert_eq!(
        (continued.generation, continued.hop),
        (handle.generation, 1)
    );
    assert!(is_stale(&registry.check(handle.clone())));
    registry.check(continued.clone()).unwrap();
    assert_eq!(registry.current(key("a")), Some(continued.clone()));
    assert_eq!(registry.running(), vec![continued.clone()]);

    // The registry continues from what was stored.
    let stored = RunRegistry::restore(&registry.snapshot()).unwrap();
    for registry in [&registry, &stored] {
        registry.look_at(None);
        registry
            .complete(continued.clone(), Outcome::Success)
            .unwrap();
        assert!(registry.unread(key("a")));
        assert_eq!(registry.unread_threads(), [key("a")]);
        assert_eq!(registry.current(key("a")), None);
        registry.look_at(Some(key("a")));
        assert!(!registry.unread(key("a")));
    }
    let other = registry.register(key("b")).handle;
    assert_eq!(registry.remove(key("b")), Some(other.clone()));
    assert_eq!(registry.remove(key("b")), None);

    let stale = |current: Option<&stepwell_ffi::RunHandle>| RegistryEvent::StaleInput {
        given: first.clone(),
        current: current.cloned(),
    };
    let cancelled = |handle: &stepwell_ffi::RunHandle| RegistryEvent::RunCompleted {
        handle: handle.clone(),
        outcome: Outcome::Cancelled,
    };
    let started = |handle: &stepwell_ffi::RunHandle| RegistryEvent::RunStarted {
        handle: handle.clone(),
    };
    let expected = [
        started(&first),
        cancelled(&first),
        started(&handle),
        stale(Some(&handle)),
        stale(Some(&handle)),
        stale(Some(&handle)),
        RegistryEvent::DisposalFailed {
            handle: first.clone(),
            message: "no".to_owned(),
        },
        RegistryEvent::RunContinued {
            handle: continued.clone(),
        },
        RegistryEvent::StaleInput {
            given: handle.clone(),
            current: Some(continued.clone()),
        },
        RegistryEvent::RunCompleted {
            handle: continued.clone(),
            outcome: Outcome::Success,
        },
        RegistryEvent::Unread { key: key("a") },
        RegistryEvent::Read { key: key("a") },
        started(&other),
        cancelled(&other),
    ];
    assert_eq!(registry.take_events(), expected);
    assert_eq!(registry.take_events(), []);
}

#[test]
fn of_many_that_go_on_at_once_one_wins() {
    let registry = RunRegistry::new();
    let handle = registry.register(key("a")).handle;
    let racers: Vec<_> = (0..8)
        .map(|_| {
            let (registry, handle) = (Arc::clone(&registry), handle.clone());
            std::thread::spawn(move || registry.replace(handle).is_ok())
        })
        .collect();
    let won = racers.into_iter().map(|racer| racer.join().unwrap());
    assert_eq!(won.filter(|won| *won).count(), 1);
}

#[test]
fn a_text_that_is_no_registry_is_refused() {
    for text in ["", "[]", r#"{"last_generation":0,"runs":3}"#] {
        let refused = RunRegistry::restore(text);
        assert!(
            matches!(refused, Err(StepwellError::Snapshot { .. })),
            "{text}: {refused:?}"
        );
    }
}

/// The outcome of an app's own run is kept unchanged.
#[test]
fn every_end_comes_back_from_the_registry() {
    let message = || "Words.".to_owned();
    let limit = TurnLimit::NoProgress {
        tool: "tool".to_owned(),
        times: 5,
    };
    let failures = [
        Failure::Api {
            kind: ApiErrorKind::Overloaded,
            status: 529,
            message: message(),
            code: Some("overloaded_error".to_owned()),
            retry_after: Some(Duration::from_millis(1_500)),
        },
        Failure::Connection { message: message() },
        Failure::UnexpectedBody {
            content_type: "text/html".to_owned(),
            excerpt: "<html>".to_owned(),
        },
        Failure::Stream { message: message() },
        Failure::Reported {
            message: message(),
            code: None,
            kind: Some(ApiErrorKind::RateLimit),
        },
        Failure::TimedOut {
            deadline: Deadline::Turn,
        },
        Failure::RunNotCreated { message: message() },
        Failure::NotStored { message: message() },
        Failure::LimitReached {
            limit: limit.clone(),
        },
        Failure::ContextTooLong {
            tokens: 11,
            window: 10,
        },
        Failure::AttachmentRefused { message: message() },
    ];
    let failed = failures.map(|failure| Outcome::Failed {
        failure,
        message: String::new(),
        transient: false,
    });
    let others = [
        Outcome::Success,
        Outcome::Cancelled,
        Outcome::Truncated,
        Outcome::LimitReached {
            limit,
            message: String::new(),
        },
    ];
    for outcome in failed.into_iter().chain(others) {
        let registry = RunRegistry::new();
        let handle = registry.register(key("a")).handle;
        registry.complete(handle, outcome.clone()).unwrap();
        let events = registry.take_events();
        let RegistryEvent::RunCompleted { outcome: told, .. } = &events[1] else {
            panic!("{events:?}");
        };
        match (told, &outcome) {
            (Outcome::Failed { failure: told, .. }, Outcome::Failed { failure, .. }) => {
                assert_eq!(told, failure);
            }
            (Outcome::LimitReached { limit: told, .. }, Outcome::LimitReached { limit, .. }) => {
                assert_eq!(told, limit);
            }
            _ => assert_eq!(told, &outcome),
        }
    }
}

fn started(journal: bool) -> Arc<RunMachine> {
    let mut config = config("http://localhost/v1");
    config.tools = vec![definition("look")];
    let run = RunMachine::new(config, "thread".to_owned(), None, None, journal).unwrap();
    let start = Start {
        run_id: "run".to_owned(),
        parent_run_id: None,
        text: Some("What is in the secret picture?".to_owned()),
        message: None,
        resume: Vec::new(),
        options: TurnOptions::default(),
        parts: Vec::new(),
    };
    run.start(start, at(1)).unwrap();
    run
}

const CALL: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"type\":\
    \"function\",\"function\":{\"name\":\"look\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n\
    data: [DONE]\n\n";

fn asked_for_a_tool(run: &RunMachine) {
    run.opened("open:0:0", Some("text/event-stream".to_owned()), at(2))
        .unwrap();
    run.receive("open:0:0", CALL.as_bytes(), at(3)).unwrap();
    let outputs = run.ended("open:0:0", at(4)).unwrap();
    assert!(matches!(outputs.effects[..], [Effect::RunTool { .. }]));
}

#[test]
fn a_tool_may_give_a_picture() {
    let run = started(false);
    asked_for_a_tool(&run);
    for odd in ["", "{}", "\"text\"", r#"[{"type":"no such type"}]"#] {
        let refused =
            run.tool_finished_parts("tool:0:0", JsonValue::from_text(odd.to_owned()), at(5));
        assert!(
            matches!(refused, Err(StepwellError::InvalidArgument { .. })),
            "{odd}: {refused:?}"
        );
    }
    let parts = serde_json::json!([
        { "type": "text", "text": "A cat." },
        { "type": "image", "source": { "type": "data", "value": "iVBORw0KGgo=", "mimeType": "image/png" } },
    ]);
    let outputs = run
        .tool_finished_parts("tool:0:0", JsonValue::of(&parts), at(5))
        .unwrap();
    let Some(Effect::OpenStream { request, .. }) = outputs.effects.first() else {
        panic!("{:?}", outputs.effects);
    };
    let body = String::from_utf8(request.body.clone()).unwrap();
    assert!(body.contains("A cat."), "{body}");
    // This provider takes no pictures in results, so they follow them; the history keeps the result unchanged.
    assert!(
        body.contains("[image, which follows the results]"),
        "{body}"
    );
    assert!(
        body.contains("data:image/png;base64,iVBORw0KGgo="),
        "{body}"
    );
    let messages: serde_json::Value = serde_json::from_str(run.messages().as_str()).unwrap();
    let result = messages.as_array().unwrap().last().unwrap();
    assert_eq!(result["content"][1]["source"]["value"], "iVBORw0KGgo=");
}

#[test]
fn a_journal_is_lived_through_again() {
    let run = started(true);
    let mut journal = run.take_journal();
    assert!(journal.contains("secret picture"));
    asked_for_a_tool(&run);
    run.tool_finished("tool:0:0", "A cat.".to_owned(), at(5))
        .unwrap();
    run.snapshot().unwrap();
    run.cancel(at(6)).unwrap();
    journal += &run.take_journal();
    let open = replay_journal(&journal).unwrap();
    assert!(!open.is_closed);
    journal += &run.end_journal();
    let replayed = replay_journal(&journal).unwrap();
    assert!(replayed.is_closed);
    assert_eq!(replayed.digest, run.digest().unwrap());
    assert_eq!(replayed.outcome, Some(Outcome::Cancelled));
    assert_eq!(replayed.inputs, 6);
    assert_eq!(replayed.effects, ["open:0:0", "tool:0:0", "open:1:0"]);
    assert_eq!(replayed.states.last(), Some(&StateKind::Completed));
    assert_eq!(run.take_journal() + &run.end_journal(), "");

    let hidden = redact_journal(&journal).unwrap();
    assert!(!hidden.contains("secret picture"), "{hidden}");

    let changed = journal.replace("A cat.", "A dog.");
    for odd in ["", "nonsense\n", &changed, &hidden] {
        let refused = replay_journal(odd);
        assert!(
            matches!(refused, Err(StepwellError::Journal { .. })),
            "{refused:?}"
        );
    }
    assert_eq!(started(false).take_journal(), "");
}

#[test]
fn a_revived_run_has_a_journal_of_its_own() {
    let run = started(false);
    asked_for_a_tool(&run);
    let mut config = config("http://localhost/v1");
    config.tools = vec![definition("look")];
    let revived = RunMachine::revive(&run.snapshot().unwrap(), config, at(9), true).unwrap();
    revived.poll_outputs().unwrap();
    revived.cancel(at(10)).unwrap();
    let journal = revived.end_journal();
    let replayed = replay_journal(&journal).unwrap();
    assert_eq!(replayed.inputs, 2);
    assert_eq!(replayed.outcome, Some(Outcome::Cancelled));
}

#[test]
fn the_providers_say_what_they_can_do() {
    let all = providers(None).unwrap();
    let named = |name: &str| all.iter().find(|provider| provider.name == name).unwrap();
    let openai = named("openai");
    assert_eq!(openai.key_variable, "OPENAI_API_KEY");
    assert!(openai.needs_key);
    let usual = openai
        .apis
        .iter()
        .find(|api| api.name == openai.default_api)
        .unwrap();
    assert!(usual.capabilities.tools && usual.capabilities.streaming);
    assert_eq!(named("anthropic").apis[0].dialect, "anthropic");
    assert_eq!(named("openai-compatible").apis[0].base_url, None);

    let own = r#"{"providers":[{"name":"mine","dialect":"openai-chat","base_url":"http://localhost/v1",
        "capabilities":{"images":false}}]}"#;
    let with_own = providers(Some(JsonValue::from_text(own.to_owned()))).unwrap();
    assert_eq!(with_own.len(), all.len() + 1);
    let mine = with_own
        .iter()
        .find(|provider| provider.name == "mine")
        .unwrap();
    assert!(!mine.apis[0].capabilities.images);
    let refused = providers(Some(JsonValue::from_text("{".to_owned())));
    assert!(
        matches!(refused, Err(StepwellError::Configuration { .. })),
        "{refused:?}"
    );
    assert!(context_window("openai", "gpt-4o-mini").unwrap().window >= 100_000);
    assert_eq!(context_window("openai", "no such model"), None);
}
