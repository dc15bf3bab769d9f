use super::*;
use crate::json_value::JsonValue;
use crate::time::Duration;

/// Returns a duration of this number of milliseconds.
const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The defaults as every language writes them out.
pub(crate) fn limits() -> Limits {
    Limits {
        max_tool_rounds: 10,
        continue_after_tools: true,
        max_tool_calls: None,
        max_tokens: None,
        max_cost: None,
        max_duration: None,
        max_parallel_tools: 8,
        repeats: RepeatLimit {
            tell_after: Some(3),
            stop_after: Some(5),
        },
        at_limit: None,
        max_answer_bytes: 33_554_432,
        max_answer_calls: 1_000,
        max_line_bytes: 67_108_864,
        max_event_bytes: 67_108_864,
    }
}

/// The defaults as every language writes them out.
pub(crate) fn retry() -> RetryPolicy {
    RetryPolicy {
        attempts: 4,
        first_delay: millis(500),
        max_delay: millis(8000),
        max_retry_after: millis(120_000),
        jitter: 0.2,
        seed: 0,
        by_kind: Vec::new(),
        accept_empty: false,
    }
}

/// The defaults as every language writes them out.
pub(crate) fn timeouts() -> Timeouts {
    Timeouts {
        silence: Some(millis(120_000)),
        tool: Some(millis(300_000)),
        turn: None,
        approval: None,
        deferred: None,
        credentials: Some(millis(60_000)),
        closing: Some(millis(2000)),
    }
}

/// The defaults as every language writes them out.
pub(crate) fn device() -> DevicePolicy {
    DevicePolicy {
        background: None,
        offline: Some(millis(300_000)),
        network_change: None,
        killed: None,
    }
}

/// The defaults as every language writes them out.
pub(crate) fn context() -> ContextGuard {
    ContextGuard {
        window: None,
        warn_at: Some(0.8),
        at_limit: None,
    }
}

#[test]
fn the_context_is_guarded_as_in_the_core() {
    let guard = stepwell_core::run::ContextGuard::from(context());
    assert_eq!(guard, stepwell_core::run::ContextGuard::default());
}

#[test]
fn the_form_of_an_answer_is_mapped() {
    let with = |schema: &str| GenerationSettings {
        response_format: Some(ResponseFormat::Schema {
            name: "city".to_owned(),
            schema: JsonValue::from_text(schema.to_owned()),
            strict: true,
        }),
        reasoning: Some(ReasoningEffort::High),
        cache_prompt: Some(CacheLifetime::OneHour),
        ..GenerationSettings::default()
    };
    let core = with(r#"{"type":"object"}"#)
        .over(&dialect::GenerationSettings::default())
        .unwrap();
    assert_eq!(
        core.response_format,
        dialect::ResponseFormat::Schema {
            name: "city".to_owned(),
            schema: serde_json::json!({"type": "object"}),
            strict: true,
        }
    );
    assert_eq!(core.reasoning, Some(dialect::ReasoningEffort::High));
    assert_eq!(core.cache_prompt, Some(dialect::CacheLifetime::OneHour));
    let error = with("{")
        .over(&dialect::GenerationSettings::default())
        .unwrap_err();
    assert!(error.to_string().contains("`schema`"), "{error}");
}

#[test]
fn settings_that_are_left_out_are_those_of_the_core() {
    assert_eq!(
        GenerationSettings::default().over(&dialect::GenerationSettings::default()),
        Ok(dialect::GenerationSettings::default())
    );
}

fn config() -> RunConfig {
    let given = json!({
        "provider": "openai-compatible", "model": "mock", "baseUrl": "http://localhost/v1",
    });
    serde_json::from_value(given).unwrap()
}

#[test]
fn a_provider_of_the_apps_own_can_be_named() {
    let config = |json: &str| RunConfig {
        provider: "mine".to_owned(),
        base_url: None,
        headers: HashMap::from([("x-b".to_owned(), "2".to_owned())]),
        providers: Some(JsonValue::from_text(json.to_owned())),
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

/// Returns what a run knows of the agent with these options.
fn ag_ui(said: AgUiOptions, providers: Option<&str>) -> dialect::AgUiOptions {
    let config = RunConfig {
        provider: if providers.is_some() {
            "mine".to_owned()
        } else {
            "ag-ui".to_owned()
        },
        providers: providers.map(|text| JsonValue::from_text(text.to_owned())),
        ag_ui: said,
        ..config()
    };
    config.into_core().unwrap().endpoint.quirks.ag_ui
}

#[test]
fn how_an_agent_is_taken_is_for_the_app_to_say() {
    assert_eq!(
        ag_ui(AgUiOptions::default(), None),
        dialect::AgUiOptions::default()
    );
    let said = AgUiOptions {
        encoding: Some(AgUiEncoding::ProtobufFirst),
        verification: Some(Verification::Lenient),
        extra_rules: Some(ExtraRules::Fatal),
        ..AgUiOptions::default()
    };
    let known = ag_ui(said, None);
    assert_eq!(known.encoding, dialect::AgUiEncoding::ProtobufFirst);
    assert_eq!(known.verification, event::Verification::Lenient);
    assert_eq!(known.extra_rules, event::ExtraRules::Fatal);
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
fn what_is_left_out_in_json_is_as_in_the_core() {
    let said = r#"{"provider":"openai-compatible","model":"m","baseUrl":"http://localhost/v1"}"#;
    let config: RunConfig = serde_json::from_str(said).unwrap();
    let config = config.into_core().unwrap();
    assert_eq!(config, run::RunConfig::new(config.endpoint.clone()));
}

#[test]
fn a_name_that_there_is_not_is_an_error() {
    let said = r#"{"provider":"ollama","limits":{"max_tool_rounds":1}}"#;
    let error = serde_json::from_str::<RunConfig>(said).err().unwrap();
    assert!(error.to_string().contains("max_tool_rounds"), "{error}");
}

/// JSON text in a record is a JSON value in the record's JSON.
#[test]
fn a_configuration_is_read_from_json() {
    let said = r#"{
        "provider": "mine",
        "model": "m",
        "providers": [{ "name": "mine", "dialect": "ag-ui", "base_url": "http://x/agent" }],
        "persistAttempts": 2,
        "runIds": "host",
        "tools": [{ "name": "look", "description": "Looks.", "parameters": { "type": "object" } }],
        "settings": {
            "toolChoice": { "name": "look" },
            "responseFormat": { "name": "city", "schema": { "type": "object" }, "strict": true },
            "extra": { "top_k": 1 },
            "context": [{ "description": "The page", "value": "Orders" }]
        },
        "agUi": { "isBefore10": true, "encoding": "protobufFirst", "verification": "lenient", "extraRules": "fatal" }
    }"#;
    let config: RunConfig = serde_json::from_str(said).unwrap();
    let config = config.into_core().unwrap();
    assert_eq!(config.durability, run::Durability::Blocks { attempts: 2 });
    assert_eq!(config.run_ids, run::RunIds::Host);
    let look = &config.tools.definitions()[0];
    assert_eq!(look.parameters, Some(json!({ "type": "object" })));
    let settings = config.settings;
    assert_eq!(
        settings.tool_choice,
        dialect::ToolChoice::Named("look".to_owned())
    );
    assert_eq!(
        settings.response_format,
        dialect::ResponseFormat::Schema {
            name: "city".to_owned(),
            schema: json!({ "type": "object" }),
            strict: true,
        }
    );
    assert_eq!(settings.extra["top_k"], json!(1));
    assert_eq!(settings.context[0].value, "Orders");
    let ag_ui = config.endpoint.quirks.ag_ui;
    assert!(ag_ui.is_before_1_0);
    assert_eq!(ag_ui.encoding, dialect::AgUiEncoding::ProtobufFirst);
    assert_eq!(ag_ui.verification, event::Verification::Lenient);
    assert_eq!(ag_ui.extra_rules, event::ExtraRules::Fatal);
    for (word, choice) in [
        ("auto", dialect::ToolChoice::Auto),
        ("never", dialect::ToolChoice::None),
        ("required", dialect::ToolChoice::Required),
    ] {
        let said = format!(r#"{{"toolChoice":"{word}","responseFormat":"json"}}"#);
        let settings: GenerationSettings = serde_json::from_str(&said).unwrap();
        let settings = settings
            .over(&dialect::GenerationSettings::default())
            .unwrap();
        assert_eq!(settings.tool_choice, choice);
        assert_eq!(settings.response_format, dialect::ResponseFormat::Json);
    }
}

/// A field that is left out has its default; `null` means none, or is an error where none is not allowed.
#[test]
fn absent_is_the_default_and_null_is_none() {
    fn read<T: serde::de::DeserializeOwned>(said: &str) -> T {
        serde_json::from_str(said).unwrap()
    }
    assert_eq!(
        run::Timeouts::from(read::<Timeouts>("{}")),
        run::Timeouts::default()
    );
    let none = r#"{"silenceMs":null,"toolMs":null,"turnMs":null,"approvalMs":null,"deferredMs":null,"credentialsMs":null,"closingMs":null}"#;
    let expected = run::Timeouts {
        silence: None,
        tool: None,
        turn: None,
        approval: None,
        deferred: None,
        credentials: None,
        closing: None,
    };
    assert_eq!(run::Timeouts::from(read::<Timeouts>(none)), expected);

    assert_eq!(
        read::<Limits>("{}").into_core().unwrap(),
        run::Limits::default()
    );
    let none = r#"{"maxToolCalls":null,"maxTokens":null,"maxDurationMs":null,"repeats":{"tellAfter":null,"stopAfter":null}}"#;
    let expected = run::Limits {
        max_tool_calls: None,
        max_tokens: None,
        max_cost: None,
        max_duration: None,
        repeats: None,
        ..run::Limits::default()
    };
    assert_eq!(read::<Limits>(none).into_core().unwrap(), expected);

    let device = |said: &str| run::DevicePolicy::from(read::<DevicePolicy>(said));
    assert_eq!(device("{}"), run::DevicePolicy::default());
    let none = device(r#"{"offlineMs":null}"#);
    assert_eq!(none.offline, run::OfflinePolicy::Fail);
    let up_to = std::time::Duration::from_secs(1);
    let said = device(r#"{"offlineMs":1000}"#);
    assert_eq!(said.offline, run::OfflinePolicy::Wait { up_to });

    let context = |said: &str| read::<ContextGuard>(said).warn_at;
    assert_eq!(context("{}"), run::ContextGuard::default().warn_at);
    assert_eq!(context(r#"{"warnAt":null}"#), None);

    for said in [r#"{"maxToolRounds":null}"#, r#"{"repeats":null}"#] {
        assert!(serde_json::from_str::<Limits>(said).is_err(), "{said}");
    }
    assert!(serde_json::from_str::<RetryPolicy>(r#"{"attempts":null}"#).is_err());
}

#[test]
fn a_policy_of_compaction_is_read_from_json() {
    let read = |compaction: &str| {
        let said = format!(r#"{{"provider":"ollama","model":"m","compaction":{compaction}}}"#);
        serde_json::from_str::<RunConfig>(&said)
    };
    let said = r#"{"at":0.5,"ways":[{"type":"dropResults","keep":3},
        {"type":"summary","model":{"provider":"ollama","model":"small"},"keep":0.1},{"type":"host"}]}"#;
    let policy = read(said).unwrap().into_core().unwrap().compaction;
    assert!((policy.at - 0.5).abs() < f64::EPSILON);
    let [drop, run::CompactionWay::Summary(summary), host] = &policy.ways[..] else {
        panic!("{policy:?}");
    };
    assert_eq!(*drop, run::CompactionWay::DropResults { keep: 3 });
    assert_eq!(*host, run::CompactionWay::Host);
    assert_eq!(summary.model.as_ref().unwrap().endpoint.model, "small");
    assert!((summary.keep - 0.1).abs() < f64::EPSILON);

    let plain = read(r#"{"ways":[{"type":"summary"}]}"#).unwrap();
    let policy = plain.into_core().unwrap().compaction;
    let expected = run::CompactionWay::Summary(run::SummaryPolicy::default());
    assert_eq!(policy, run::CompactionPolicy::with(expected));
    for unknown in [
        r#"{"way":[]}"#,
        r#"{"ways":[{"type":"magic"}]}"#,
        r#"{"ways":[{"type":"summary","keeps":1}]}"#,
    ] {
        assert!(read(unknown).is_err(), "{unknown}");
    }
    let beyond = read(r#"{"at":1.5,"ways":[{"type":"host"}]}"#).unwrap();
    let error = beyond.into_core().unwrap_err().to_string();
    assert!(error.contains("no part of the context"), "{error}");
}
