//! That no variant of the core is lost on the way: the core's enums may grow without breaking this crate's build, so
//! their variants are read in its sources, and each must have a counterpart here.

use crate::config::{BackgroundPolicy, DevicePolicy, KilledPolicy, NetworkChangePolicy};
use crate::effect::{CallKey, Effect, name};
use crate::error::StepwellError;
use crate::event::{ArgumentsChange, Event, SteeringRefusal, ToolFailureKind, ToolResult};
use crate::machine::{RunMachine, Start, TimerKey};
use crate::outcome::{Failure, Incomplete, Outcome, TurnLimit};
use crate::{
    AgUiEncoding, AgUiOptions, ContextEntry, ExtraRules, GenerationSettings, LimitPolicy, Outputs,
    Resumption, RunConfig, TextOptions, Verification,
};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Debug;
use stepwell_core::conversation::{RunFailure, ToolCallStatus};
use stepwell_core::dialect::{self, ApiError, ApiErrorKind, HttpRequest};
use stepwell_core::event::{self, Message};
use stepwell_core::run::{self, Misuse, RunEvent};
use stepwell_core::tool::{self, Arguments, OwnedChange, ToolFailure};

const CALL: stepwell_core::CallKey = stepwell_core::CallKey { hop: 0, index: 0 };
const EFFECT: run::EffectId = run::EffectId::Tool(CALL);

/// The variants of an enum as a file of the core declares it.
fn declared(file: &str, name: &str) -> BTreeSet<String> {
    let path = format!("{}/../core/src/{file}", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(path).unwrap();
    let is_opening = |line: &str| {
        line.strip_prefix("pub enum ")
            .and_then(|line| line.strip_prefix(name))
            .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    };
    let mut lines = source.lines().skip_while(|line| !is_opening(line));
    assert!(lines.next().is_some(), "no `{name}` in {file}");
    lines
        .take_while(|line| *line != "}")
        .filter_map(|line| line.strip_prefix("    "))
        .filter(|line| line.starts_with(char::is_uppercase))
        .map(|line| {
            let end = line.find(|c: char| !c.is_alphanumeric());
            line[..end.unwrap_or(line.len())].to_owned()
        })
        .collect()
}

fn names<'a, T: Debug + 'a>(samples: impl IntoIterator<Item = &'a T>) -> BTreeSet<String> {
    samples.into_iter().map(|sample| name(sample)).collect()
}

fn failures() -> Vec<run::Failure> {
    let message = "Words.".to_owned();
    vec![
        run::Failure::Api {
            error: ApiError::from_body(500, b""),
        },
        run::Failure::Connection {
            message: message.clone(),
        },
        run::Failure::UnexpectedBody {
            content_type: String::new(),
            excerpt: String::new(),
        },
        run::Failure::Stream {
            message: message.clone(),
        },
        run::Failure::Reported {
            error: RunFailure {
                message: message.clone(),
                code: None,
            },
            kind: None,
        },
        run::Failure::TimedOut {
            deadline: run::Deadline::Turn,
        },
        run::Failure::RunNotCreated {
            message: message.clone(),
        },
        run::Failure::NotStored {
            message: message.clone(),
        },
        run::Failure::LimitReached {
            limit: run::TurnLimit::MaxToolCalls { max: 1 },
        },
        run::Failure::ContextTooLong {
            tokens: 11,
            window: 10,
        },
        run::Failure::AttachmentRefused { message },
    ]
}

#[test]
fn every_event_has_its_own() {
    let samples = vec![
        RunEvent::Started {
            thread_id: "thread".into(),
            run_id: "run".into(),
        },
        RunEvent::HopStarted {
            hop: 1,
            run_id: "run".into(),
        },
        RunEvent::AgUi(event::Event::StepStarted(event::StepStarted {
            step_name: "step".to_owned(),
            common: None,
        })),
        RunEvent::ToolCall(run::ToolCallUpdate {
            call: CALL,
            tool_call_id: "call".into(),
            name: "tool".to_owned(),
            status: ToolCallStatus::Deferred,
            result: None,
        }),
        RunEvent::PartialArguments(run::PartialArgumentsUpdate {
            call: CALL,
            tool_call_id: "call".into(),
            changes: Vec::new(),
            stopped: None,
        }),
        RunEvent::Retrying {
            attempt: 1,
            delay_ms: 1,
            reason: String::new(),
        },
        RunEvent::Interrupted {
            interrupts: Vec::new(),
        },
        RunEvent::AnswerDropped { effect: EFFECT },
        RunEvent::Warning {
            message: String::new(),
        },
        RunEvent::Completed(run::Outcome::Success),
        RunEvent::UnknownToolCall {
            tool_call_id: "call".into(),
        },
        RunEvent::SteeringTaken {
            message_id: "message".into(),
            hop: 1,
        },
        RunEvent::SteeringRefused {
            message: Box::new(Message::user("message", "Stop")),
            reason: run::SteeringRefusal::TurnOver,
        },
        RunEvent::WaitingForNetwork { up_to_ms: 1 },
        RunEvent::StreamResumed { hop: 1, attempt: 1 },
        RunEvent::ContextNearlyFull {
            tokens: 9,
            window: 10,
        },
        RunEvent::ContextTrimmed {
            left_out: vec!["message".into()],
            tokens: 5,
        },
    ];
    assert_eq!(names(&samples), declared("run/output.rs", "RunEvent"));
    for sample in samples {
        let mapped = Event::from(sample.clone());
        assert!(!matches!(mapped, Event::Unknown { .. }), "{sample:?}");
    }
}

#[test]
fn every_effect_has_its_own() {
    let invocation = run::ToolInvocation {
        call: CALL,
        tool_call_id: "call".into(),
        name: "tool".to_owned(),
        arguments: Arguments {
            raw: String::new(),
            value: serde_json::Value::Null,
        },
    };
    let samples = vec![
        run::Effect::CreateRun {
            thread_id: "thread".into(),
            parent_run_id: Some("run".into()),
        },
        run::Effect::OpenStream {
            request: HttpRequest {
                method: "POST",
                url: String::new(),
                headers: Vec::new(),
                body: Vec::new(),
            },
        },
        run::Effect::CloseStream,
        run::Effect::AskApproval {
            invocation: invocation.clone(),
        },
        run::Effect::RunTool { invocation },
        run::Effect::CancelTool,
        run::Effect::Persist {
            turn: "run".into(),
            status: run::TurnStatus::Streaming,
            outcome: None,
            blocks: Vec::new(),
            snapshot: String::new(),
        },
        run::Effect::TrimContext {
            overflow: run::ContextOverflow {
                tokens: 11,
                window: 10,
                messages: vec![run::ContextMessage {
                    id: "message".into(),
                    tokens: 11,
                }],
            },
        },
    ];
    assert_eq!(names(&samples), declared("run/effect.rs", "Effect"));
    for sample in samples {
        let mapped = Effect::new(EFFECT, sample.clone());
        assert!(!matches!(mapped, Effect::Unknown { .. }), "{sample:?}");
    }
}

#[test]
fn every_outcome_and_failure_has_its_own() {
    let limit = run::TurnLimit::MaxToolRounds { max: 1 };
    let samples = vec![
        run::Outcome::Success,
        run::Outcome::Incomplete {
            reason: run::Incomplete::Refusal,
        },
        run::Outcome::LimitReached { limit },
        run::Outcome::Cancelled,
        run::Outcome::Truncated,
        run::Outcome::Failed {
            failure: failures().remove(0),
        },
    ];
    assert_eq!(names(&samples), declared("run/outcome.rs", "Outcome"));
    for sample in samples {
        let mapped = name(&Outcome::from(sample.clone()));
        assert_eq!(mapped, name(&sample));
    }
    for reason in run::Incomplete::ALL {
        assert_eq!(name(&Incomplete::from(reason)), name(&reason));
        assert_eq!(run::Incomplete::from(Incomplete::from(reason)), reason);
    }
    let samples = failures();
    assert_eq!(names(&samples), declared("run/outcome.rs", "Failure"));
    for sample in samples {
        assert_eq!(name(&Failure::from(sample.clone())), name(&sample));
    }
    let kinds = [
        ApiErrorKind::Authentication,
        ApiErrorKind::RateLimit,
        ApiErrorKind::BadRequest,
        ApiErrorKind::NotFound,
        ApiErrorKind::Unavailable,
        ApiErrorKind::Overloaded,
        ApiErrorKind::ContextTooLong,
        ApiErrorKind::ContentFiltered,
    ];
    let declared = declared("dialect/error/mod.rs", "ApiErrorKind");
    assert_eq!(names(&kinds), declared);
    for kind in kinds {
        let error = ApiError {
            kind,
            ..ApiError::from_body(500, b"")
        };
        let Failure::Api { kind: mapped, .. } = run::Failure::Api { error }.into() else {
            panic!("{kind:?}");
        };
        assert_eq!(name(&mapped), name(&kind));
    }
}

#[test]
fn every_limit_has_its_own() {
    let samples = vec![
        run::TurnLimit::MaxToolRounds { max: 1 },
        run::TurnLimit::MaxToolCalls { max: 1 },
        run::TurnLimit::MaxTokens { max: 1 },
        run::TurnLimit::MaxDuration { max_ms: 1 },
        run::TurnLimit::NoProgress {
            tool: String::new(),
            times: 1,
        },
        run::TurnLimit::MaxAnswerBytes { max: 1 },
        run::TurnLimit::MaxAnswerCalls { max: 1 },
    ];
    assert_eq!(names(&samples), declared("run/limits.rs", "TurnLimit"));
    for sample in samples {
        assert_eq!(name(&TurnLimit::from(sample.clone())), name(&sample));
    }
}

#[test]
fn every_kind_of_tool_failure_has_its_own_both_ways() {
    let samples = [
        ToolFailureKind::Error,
        ToolFailureKind::Panicked,
        ToolFailureKind::TimedOut,
        ToolFailureKind::Rejected,
        ToolFailureKind::Denied,
        ToolFailureKind::Cancelled,
        ToolFailureKind::OutcomeUnknown,
        ToolFailureKind::LimitReached,
        ToolFailureKind::Repeated,
    ];
    let all = declared("tool/result.rs", "ToolFailureKind");
    assert_eq!(names(&samples), all);
    for kind in samples {
        let core = tool::ToolFailureKind::from(kind);
        assert_eq!(name(&core), name(&kind));
        let mapped = ToolResult::from(Err(ToolFailure::new(core, "Words.")));
        let message = "Words.".to_owned();
        assert_eq!(mapped, ToolResult::Failed { kind, message });
    }
}

#[test]
fn every_reason_to_refuse_steering_has_its_own() {
    let samples = [
        run::SteeringRefusal::TurnOver,
        run::SteeringRefusal::Disposed,
        run::SteeringRefusal::QueueFull,
        run::SteeringRefusal::DuplicateId,
        run::SteeringRefusal::NotFromUser,
    ];
    let all = declared("run/steering.rs", "SteeringRefusal");
    assert_eq!(names(&samples), all);
    for sample in samples {
        assert_eq!(name(&SteeringRefusal::from(sample)), name(&sample));
    }
}

#[test]
fn every_change_of_arguments_has_its_own() {
    let path = String::new;
    let value = || serde_json::Value::Null;
    let samples = vec![
        OwnedChange::Add {
            path: path(),
            value: value(),
        },
        OwnedChange::Append {
            path: path(),
            text: String::new(),
        },
        OwnedChange::End { path: path() },
        OwnedChange::Replace {
            path: path(),
            value: value(),
        },
    ];
    let all = declared("tool/partial/owned.rs", "OwnedChange");
    assert_eq!(names(&samples), all);
    for sample in samples {
        assert_eq!(name(&ArgumentsChange::from(sample.clone())), name(&sample));
    }
}

#[test]
fn every_timer_has_its_own() {
    let samples = [
        run::TimerKey::Silence,
        run::TimerKey::Retry,
        run::TimerKey::Tool(CALL),
        run::TimerKey::Turn,
        run::TimerKey::Approval(CALL),
        run::TimerKey::Network,
        run::TimerKey::Closing,
    ];
    assert_eq!(names(&samples), declared("run/timer.rs", "TimerKey"));
    for sample in samples {
        assert_eq!(name(&TimerKey::from(sample)), name(&sample));
    }
}

#[test]
fn every_policy_can_be_chosen() {
    let device = |set: fn(&mut DevicePolicy)| {
        let mut policy = crate::config::tests::device();
        set(&mut policy);
        run::DevicePolicy::from(policy)
    };
    let background = [
        device(|policy| policy.background = Some(BackgroundPolicy::Continue)).background,
        device(|policy| policy.background = Some(BackgroundPolicy::PauseClocks)).background,
        device(|policy| policy.background = Some(BackgroundPolicy::Cancel)).background,
    ];
    let all = declared("run/device.rs", "BackgroundPolicy");
    assert_eq!(names(&background), all);
    let offline = [
        device(|policy| policy.offline_ms = None).offline,
        device(|policy| policy.offline_ms = Some(1)).offline,
    ];
    assert_eq!(names(&offline), declared("run/device.rs", "OfflinePolicy"));
    let change = [
        device(|policy| policy.network_change = Some(NetworkChangePolicy::Keep)).network_change,
        device(|policy| policy.network_change = Some(NetworkChangePolicy::Reopen)).network_change,
    ];
    let all = declared("run/device.rs", "NetworkChangePolicy");
    assert_eq!(names(&change), all);
    let killed = [
        device(|policy| policy.killed = Some(KilledPolicy::Continue)).killed,
        device(|policy| policy.killed = Some(KilledPolicy::Cancel)).killed,
    ];
    assert_eq!(names(&killed), declared("run/device.rs", "KilledPolicy"));
    let at_limit = [LimitPolicy::Fail, LimitPolicy::Complete, LimitPolicy::SumUp];
    let mut config = config();
    let chosen = at_limit.map(|policy| {
        config.limits.at_limit = Some(policy);
        config.clone().into_core().unwrap().limits.at_limit
    });
    assert_eq!(names(&chosen), declared("run/config.rs", "LimitPolicy"));
}

fn config() -> RunConfig {
    RunConfig {
        provider: "openai-compatible".to_owned(),
        model: "mock".to_owned(),
        api: None,
        base_url: Some("http://localhost/v1".to_owned()),
        key: None,
        headers: HashMap::new(),
        instructions: None,
        tools: Vec::new(),
        settings: GenerationSettings::default(),
        limits: crate::config::tests::limits(),
        retry: crate::config::tests::retry(),
        timeouts: crate::config::tests::timeouts(),
        run_ids: None,
        durability: None,
        partial_arguments: false,
        device: crate::config::tests::device(),
        resumption: None,
        providers_json: None,
        text: TextOptions {
            break_after_tools: true,
            drop_blank: false,
        },
        context: crate::config::tests::context(),
        ag_ui: AgUiOptions::default(),
    }
}

#[test]
fn a_provider_of_the_apps_own_can_be_named() {
    let config = |json: &str| RunConfig {
        provider: "mine".to_owned(),
        base_url: None,
        headers: HashMap::from([("x-b".to_owned(), "2".to_owned())]),
        providers_json: Some(json.to_owned()),
        ..config()
    };
    let good = r#"{"providers": [{"name": "mine", "dialect": "openai-chat", "base_url": "http://x/v1",
        "headers": {"x-a": "1"}}]}"#;
    let core = config(good).into_core().unwrap();
    assert_eq!(core.endpoint.base_url, "http://x/v1");
    let names: Vec<_> = core
        .endpoint
        .headers
        .iter()
        .map(|header| &*header.0)
        .collect();
    assert_eq!(names, ["x-a", "x-b"]);
    let error = config(r#"{"providers": 1}"#).into_core().unwrap_err();
    assert!(error.to_string().contains("line 1"), "{error}");
}

#[test]
fn every_policy_for_a_full_context_has_its_own() {
    use crate::config::ContextPolicy;
    let at_limit = [
        ContextPolicy::Send,
        ContextPolicy::Fail,
        ContextPolicy::Trim,
    ];
    let mut config = config();
    let chosen = at_limit.map(|policy| {
        config.context.at_limit = Some(policy);
        config.clone().into_core().unwrap().context.at_limit
    });
    assert_eq!(
        names(&chosen),
        declared("run/context_guard.rs", "ContextPolicy")
    );
}

#[test]
fn how_a_server_resumes_is_for_the_app_to_say() {
    let resumption = |said| {
        let config = RunConfig {
            resumption: said,
            ..config()
        };
        let core = config.into_core().unwrap();
        core.endpoint.quirks.resumption
    };
    for (said, resumes) in [
        (None, dialect::Resumption::Never),
        (Some(Resumption::Never), dialect::Resumption::Never),
        (
            Some(Resumption::LastEventId),
            dialect::Resumption::LastEventId,
        ),
        (Some(Resumption::Replay), dialect::Resumption::Replay),
        (Some(Resumption::Snapshot), dialect::Resumption::Snapshot),
    ] {
        assert_eq!(resumption(said), resumes);
    }
}

/// What a run knows of the agent, by what was said of it.
fn ag_ui(said: AgUiOptions, providers_json: Option<&str>) -> dialect::AgUiOptions {
    let config = RunConfig {
        provider: if providers_json.is_some() {
            "mine".to_owned()
        } else {
            "ag-ui".to_owned()
        },
        providers_json: providers_json.map(str::to_owned),
        ag_ui: said,
        ..config()
    };
    config.into_core().unwrap().endpoint.quirks.ag_ui
}

#[test]
fn every_way_to_take_an_ag_ui_agent_has_its_own() {
    let encodings = [
        AgUiEncoding::Json,
        AgUiEncoding::JsonFirst,
        AgUiEncoding::ProtobufFirst,
    ];
    let verifications = [Verification::Protocol, Verification::Lenient];
    let rules = [ExtraRules::Off, ExtraRules::Warn, ExtraRules::Fatal];
    let expected = dialect::AgUiOptions::default();
    assert_eq!(ag_ui(AgUiOptions::default(), None), expected);
    for encoding in encodings {
        let known = ag_ui(
            AgUiOptions {
                encoding: Some(encoding),
                ..AgUiOptions::default()
            },
            None,
        );
        assert_eq!(name(&known.encoding), name(&encoding));
    }
    for verification in verifications {
        let known = ag_ui(
            AgUiOptions {
                verification: Some(verification),
                ..AgUiOptions::default()
            },
            None,
        );
        assert_eq!(name(&known.verification), name(&verification));
    }
    for extra_rules in rules {
        let known = ag_ui(
            AgUiOptions {
                extra_rules: Some(extra_rules),
                ..AgUiOptions::default()
            },
            None,
        );
        assert_eq!(name(&known.extra_rules), name(&extra_rules));
    }
    let options = "dialect/ag_ui/options.rs";
    assert_eq!(names(&encodings), declared(options, "AgUiEncoding"));
    let verifier = "event/order/verifier.rs";
    assert_eq!(names(&verifications), declared(verifier, "Verification"));
    assert_eq!(names(&rules), declared(verifier, "ExtraRules"));
}

#[test]
fn what_is_known_of_an_agent_stays_unless_the_app_says_otherwise() {
    let mine = r#"{"providers": [{"name": "mine", "dialect": "ag-ui", "base_url": "http://x/agent",
        "quirks": {"ag_ui": {"encoding": "json-first", "is_before_1_0": true, "verification": "lenient",
            "extra_rules": "off"}}}]}"#;
    let known = ag_ui(AgUiOptions::default(), Some(mine));
    assert_eq!(known.encoding, dialect::AgUiEncoding::JsonFirst);
    assert_eq!(known.verification, event::Verification::Lenient);
    assert_eq!(known.extra_rules, event::ExtraRules::Off);
    assert!(known.is_before_1_0);
    let said = AgUiOptions {
        is_before_1_0: Some(false),
        ..AgUiOptions::default()
    };
    let changed = ag_ui(said, Some(mine));
    assert!(!changed.is_before_1_0);
    assert!(!changed.keeps_unknown);
    let said = AgUiOptions {
        keeps_unknown: Some(true),
        ..AgUiOptions::default()
    };
    assert!(ag_ui(said, Some(mine)).keeps_unknown);
    assert_eq!(changed.encoding, known.encoding);
    assert_eq!(changed.verification, known.verification);
    assert_eq!(changed.extra_rules, known.extra_rules);
}

#[test]
fn an_agent_is_told_what_the_app_knows() {
    let mut config = config();
    config.settings.context = vec![ContextEntry {
        description: "The page".to_owned(),
        value: "Orders".to_owned(),
    }];
    let core = config.into_core().unwrap();
    assert_eq!(
        core.settings.context,
        [event::Context {
            description: "The page".to_owned(),
            value: "Orders".to_owned(),
            extra: event::Metadata::new(),
        }]
    );
}

#[test]
fn every_input_has_its_method() {
    type Method = fn(&RunMachine) -> Result<Outputs, StepwellError>;
    let methods: Vec<Method> = vec![
        |run| {
            let start = Start {
                parent_run_id: None,
                run_id: "run".to_owned(),
                text: Some("Hi".to_owned()),
                message_json: None,
                resume: Vec::new(),
            };
            run.start(start, 1)
        },
        |run| run.run_created("create_run:1", "run".to_owned(), 1),
        |run| run.run_not_created("create_run:1", "full".to_owned(), 1),
        |run| run.opened("open:0:0", None, 1),
        |run| run.refused("open:0:0", 500, b"", 1, None),
        |run| run.connection_failed("open:0:0", "no route".to_owned(), 1),
        |run| run.receive("open:0:0", b"", 1),
        |run| run.ended("open:0:0", 1),
        |run| run.lost("open:0:0", "reset".to_owned(), 1),
        |run| run.tool_finished("tool:0:0", "42".to_owned(), 1),
        |run| run.tool_finished_parts("tool:0:0", r#"[{"type":"text","text":"42"}]"#, 1),
        |run| run.tool_failed("tool:0:0", "no".to_owned(), 1, None),
        |run| run.tool_deferred("tool:0:0", 1),
        |run| run.approve("approve:0:0", 1, None),
        |run| run.approve("approve:0:0", 1, Some("{}".to_owned())),
        |run| run.deny("approve:0:0", None, 1),
        |run| run.persisted("persist:0", 1),
        |run| run.persist_failed("persist:0", "full".to_owned(), 1),
        |run| run.resume(Vec::new(), 1),
        |run| run.cancel(1),
        |run| run.cancel_call(CallKey { hop: 0, index: 0 }, 1),
        |run| run.steer("message".to_owned(), "Stop".to_owned(), 1),
        |run| run.steer_message(r#"{"id":"m","role":"user","content":"Stop"}"#, 1),
        |run| run.shown("[]", 1),
        |run| run.entered_background(1),
        |run| run.entered_foreground(1),
        |run| run.network_lost(1),
        |run| run.network_available(1),
        |run| run.context_trimmed("trim:0", Vec::new(), 1, None),
        |run| run.context_not_trimmed("trim:0", "no".to_owned(), 1),
        |run| run.timeout(1),
    ];
    let run = RunMachine::new(config(), "thread".to_owned(), "[]", "{}", false).unwrap();
    assert!(!run.is_disposed());
    run.dispose(1).unwrap();
    assert!(run.is_disposed());
    // A run that was disposed of names each input that it refuses.
    let mut named = BTreeSet::from(["Dispose".to_owned()]);
    for method in methods {
        let Err(StepwellError::Misuse { reason, advice }) = method(&run) else {
            panic!("taken after the end: {named:?} and one more");
        };
        assert!(advice.contains("revive"), "{advice}");
        named.extend(reason.split(' ').next().map(str::to_owned));
    }
    assert_eq!(named, declared("run/input.rs", "Input"));
}

#[test]
fn every_misuse_says_what_to_do_about_it() {
    let input = "Ended";
    let resume = run::ResumeError::Unknown("interrupt".to_owned());
    let rejection = tool::Rejection::NotJson {
        name: "tool".to_owned(),
        reason: "a brace is missing".to_owned(),
    };
    let samples = vec![
        Misuse::WrongState {
            state: run::StateKind::Idle,
            input,
        },
        Misuse::WrongEffect {
            input,
            effect: EFFECT,
        },
        Misuse::NotOpened {
            input,
            effect: EFFECT,
        },
        Misuse::Resume(resume),
        Misuse::EditedArguments(rejection),
        Misuse::Broken,
        Misuse::Disposed { input },
    ];
    assert_eq!(names(&samples), declared("run/input.rs", "Misuse"));
    let mut advices = BTreeSet::new();
    for sample in samples {
        let error = StepwellError::from(sample.clone());
        assert!(error.to_string().contains(&sample.to_string()), "{error}");
        let (StepwellError::Misuse { advice, .. }
        | StepwellError::InvalidArgument { advice, .. }
        | StepwellError::Broken { advice, .. }) = error
        else {
            panic!("{error:?}");
        };
        assert!(!advice.contains("documentation"), "{sample:?}: {advice}");
        assert!(advices.insert(advice), "{sample:?}");
    }
}
