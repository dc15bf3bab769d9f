//! Any event of AG-UI 1.0, with any of the fields that it may have.

use proptest::prelude::*;
use proptest::strategy::Union;
use serde_json::{Map, Value, json};

type Any = BoxedStrategy<Value>;
type Fields = Vec<(&'static str, Any)>;

fn text() -> Any {
    prop_oneof![
        Just(json!("")),
        "[a-c]{1,3}".prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
    ]
    .boxed()
}

/// Any JSON that both encodings can say: no number loses a digit.
pub(crate) fn any_json(may_be_null: bool) -> Any {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-(1_i64 << 53)..=(1 << 53)).prop_map(Value::from),
        Just(json!(0.25)),
        Just(json!(-1.5e300)),
        text(),
    ];
    let tree = leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-c]{0,2}", inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    });
    tree.prop_filter("null is absent here", move |value| {
        may_be_null || !value.is_null()
    })
    .boxed()
}

fn object_json() -> Any {
    prop::collection::vec(("[a-c]{0,2}", any_json(true)), 0..3)
        .prop_map(|fields| Value::Object(fields.into_iter().collect()))
        .boxed()
}

fn flag() -> Any {
    any::<bool>().prop_map(Value::from).boxed()
}

fn integer(from: i64) -> Any {
    (from..=((1 << 53) - 1)).prop_map(Value::from).boxed()
}

fn one_of(words: &'static [&'static str]) -> Any {
    prop::sample::select(words).prop_map(Value::from).boxed()
}

fn list(item: Any) -> Any {
    prop::collection::vec(item, 0..3)
        .prop_map(Value::from)
        .boxed()
}

/// An object of required fields, and of some of the optional ones.
fn object(required: Fields, optional: Fields) -> Any {
    let required = required
        .into_iter()
        .map(|(name, value)| value.prop_map(move |value| Some((name, value))).boxed());
    let optional = optional.into_iter().map(|(name, value)| {
        prop::option::of(value)
            .prop_map(move |value| value.map(|value| (name, value)))
            .boxed()
    });
    let fields: Vec<_> = required.chain(optional).collect();
    fields
        .prop_map(|fields| {
            let fields = fields.into_iter().flatten();
            let fields = fields.map(|(name, value)| (name.to_owned(), value));
            Value::Object(fields.collect::<Map<_, _>>())
        })
        .boxed()
}

fn tagged(name: &'static str, tag: &'static str, value: Any) -> Any {
    value
        .prop_map(move |mut value| {
            value[name] = tag.into();
            value
        })
        .boxed()
}

fn part() -> Any {
    let source = prop_oneof![
        tagged(
            "type",
            "data",
            object(vec![("value", text()), ("mimeType", text())], vec![])
        ),
        tagged(
            "type",
            "url",
            object(vec![("value", text())], vec![("mimeType", text())])
        ),
        tagged(
            "type",
            "file",
            object(
                vec![("value", text())],
                vec![("provider", text()), ("mimeType", text())]
            )
        ),
    ]
    .boxed();
    let attached = || vec![("id", text()), ("metadata", any_json(false))];
    let media = |kind| {
        tagged(
            "type",
            kind,
            object(vec![("source", source.clone())], attached()),
        )
    };
    prop_oneof![
        tagged("type", "text", object(vec![("text", text())], attached())),
        media("image"),
        media("audio"),
        media("video"),
        media("document"),
    ]
    .boxed()
}

fn content() -> Any {
    prop_oneof![text(), list(part())].boxed()
}

fn message() -> Any {
    let common = |own: Fields| {
        let common = vec![("metadata", object_json()), ("subagentRunId", text())];
        [common, own].concat()
    };
    let sealed = |own: Fields| common([own, vec![("encryptedValue", text())]].concat());
    let call = object(
        vec![
            ("id", text()),
            ("type", one_of(&["function"])),
            (
                "function",
                object(vec![("name", text()), ("arguments", text())], vec![]),
            ),
        ],
        vec![("encryptedValue", text()), ("metadata", object_json())],
    );
    let calls = prop::collection::vec(call, 1..3)
        .prop_map(Value::from)
        .boxed();
    let of = |role, required: Fields, optional| {
        let required = [vec![("id", text())], required].concat();
        tagged("role", role, object(required, optional))
    };
    prop_oneof![
        of(
            "developer",
            vec![("content", text())],
            sealed(vec![("name", text())])
        ),
        of(
            "system",
            vec![("content", text())],
            sealed(vec![("name", text())])
        ),
        of(
            "assistant",
            vec![],
            sealed(vec![
                ("content", text()),
                ("toolCalls", calls),
                ("name", text())
            ])
        ),
        of(
            "user",
            vec![("content", content())],
            sealed(vec![("name", text())])
        ),
        of(
            "tool",
            vec![("toolCallId", text()), ("content", content())],
            sealed(vec![("error", text())])
        ),
        of(
            "activity",
            vec![("activityType", text()), ("content", object_json())],
            common(vec![])
        ),
        of("reasoning", vec![("content", text())], sealed(vec![])),
    ]
    .boxed()
}

fn patch() -> Any {
    let pointer = || one_of(&["", "/a", "/a~1b/0", "/~0"]);
    let valued = |op| {
        let required = vec![("path", pointer()), ("value", any_json(true))];
        tagged("op", op, object(required, vec![]))
    };
    let moving = |op| {
        tagged(
            "op",
            op,
            object(vec![("from", pointer()), ("path", pointer())], vec![]),
        )
    };
    list(
        prop_oneof![
            valued("add"),
            valued("replace"),
            valued("test"),
            tagged("op", "remove", object(vec![("path", pointer())], vec![])),
            moving("move"),
            moving("copy"),
        ]
        .boxed(),
    )
}

fn input() -> Any {
    let tool = object(
        vec![("name", text()), ("description", text())],
        vec![("parameters", any_json(false)), ("metadata", object_json())],
    );
    let context = object(vec![("description", text()), ("value", text())], vec![]);
    let resume = object(
        vec![
            ("interruptId", text()),
            ("status", one_of(&["resolved", "cancelled"])),
        ],
        vec![("payload", any_json(false)), ("metadata", object_json())],
    );
    object(
        vec![
            ("threadId", text()),
            ("runId", text()),
            ("messages", list(message())),
        ],
        vec![
            ("protocolVersion", text()),
            ("parentRunId", text()),
            ("state", any_json(false)),
            ("tools", list(tool)),
            ("context", list(context)),
            ("forwardedProps", any_json(false)),
            ("resume", list(resume)),
        ],
    )
}

fn usage() -> Any {
    list(object(
        vec![],
        vec![
            ("provider", text()),
            ("model", text()),
            ("inputTokens", integer(0)),
            ("outputTokens", integer(0)),
            ("totalTokens", integer(0)),
            ("reasoningTokens", integer(0)),
            ("cachedInputTokens", integer(0)),
            ("cacheWriteInputTokens", integer(0)),
        ],
    ))
}

fn outcome() -> Any {
    let interrupt = object(
        vec![("id", text()), ("reason", text())],
        vec![
            ("message", text()),
            ("toolCallId", text()),
            ("responseSchema", object_json()),
            ("expiresAt", text()),
            ("metadata", object_json()),
            ("subagentRunId", text()),
        ],
    );
    let interrupts = prop::collection::vec(interrupt, 1..3)
        .prop_map(Value::from)
        .boxed();
    prop_oneof![
        tagged(
            "type",
            "success",
            object(vec![], vec![("pendingToolCallIds", list(text()))])
        ),
        tagged(
            "type",
            "interrupt",
            object(vec![("interrupts", interrupts)], vec![])
        ),
        Just(json!({"type": "cancelled"})),
    ]
    .boxed()
}

/// Any event, in JSON.
pub(crate) fn any_event() -> impl Strategy<Value = Value> {
    let subagent_outcome = prop_oneof![
        Just(json!({"type": "success"})),
        tagged(
            "type",
            "suspended",
            object(vec![], vec![("interruptIds", list(text()))])
        ),
    ]
    .boxed();
    let role = || one_of(&["developer", "system", "assistant", "user"]);
    let run = || vec![("threadId", text()), ("runId", text())];
    let message_id = || ("messageId", text());
    let call = || ("toolCallId", text());
    let activity = |own| vec![message_id(), ("activityType", text()), own];
    let events: Vec<(&'static str, Fields, Fields)> = vec![
        (
            "RUN_STARTED",
            run(),
            vec![
                ("protocolVersion", text()),
                ("parentRunId", text()),
                ("input", input()),
            ],
        ),
        (
            "RUN_FINISHED",
            run(),
            vec![
                ("result", any_json(false)),
                ("outcome", outcome()),
                ("usage", usage()),
            ],
        ),
        (
            "RUN_ERROR",
            vec![("message", text())],
            vec![("code", text()), ("usage", usage())],
        ),
        ("STEP_STARTED", vec![("stepName", text())], vec![]),
        ("STEP_FINISHED", vec![("stepName", text())], vec![]),
        (
            "TEXT_MESSAGE_START",
            vec![message_id()],
            vec![("role", role()), ("name", text())],
        ),
        (
            "TEXT_MESSAGE_CONTENT",
            vec![message_id(), ("delta", text())],
            vec![],
        ),
        ("TEXT_MESSAGE_END", vec![message_id()], vec![]),
        (
            "TEXT_MESSAGE_CHUNK",
            vec![],
            vec![
                message_id(),
                ("role", role()),
                ("delta", text()),
                ("name", text()),
            ],
        ),
        (
            "TOOL_CALL_START",
            vec![call(), ("toolCallName", text())],
            vec![("parentMessageId", text())],
        ),
        ("TOOL_CALL_ARGS", vec![call(), ("delta", text())], vec![]),
        ("TOOL_CALL_END", vec![call()], vec![]),
        (
            "TOOL_CALL_CHUNK",
            vec![],
            vec![
                call(),
                ("toolCallName", text()),
                ("parentMessageId", text()),
                ("delta", text()),
            ],
        ),
        (
            "TOOL_CALL_RESULT",
            vec![message_id(), call(), ("content", content())],
            vec![("role", one_of(&["tool"]))],
        ),
        ("STATE_SNAPSHOT", vec![("snapshot", any_json(true))], vec![]),
        ("STATE_DELTA", vec![("delta", patch())], vec![]),
        (
            "MESSAGES_SNAPSHOT",
            vec![("messages", list(message()))],
            vec![],
        ),
        (
            "ACTIVITY_SNAPSHOT",
            activity(("content", object_json())),
            vec![("replace", flag())],
        ),
        ("ACTIVITY_DELTA", activity(("patch", patch())), vec![]),
        ("REASONING_START", vec![message_id()], vec![]),
        ("REASONING_END", vec![message_id()], vec![]),
        (
            "REASONING_MESSAGE_START",
            vec![message_id(), ("role", one_of(&["reasoning"]))],
            vec![],
        ),
        (
            "REASONING_MESSAGE_CONTENT",
            vec![message_id(), ("delta", text())],
            vec![],
        ),
        ("REASONING_MESSAGE_END", vec![message_id()], vec![]),
        (
            "REASONING_MESSAGE_CHUNK",
            vec![],
            vec![message_id(), ("delta", text())],
        ),
        (
            "REASONING_ENCRYPTED_VALUE",
            vec![
                ("subtype", one_of(&["tool-call", "message"])),
                ("entityId", text()),
                ("encryptedValue", text()),
            ],
            vec![],
        ),
        (
            "SUBAGENT_STARTED",
            vec![("subagentRunId", text()), ("name", text())],
            vec![
                ("description", text()),
                ("parentSubagentRunId", text()),
                ("parentToolCallId", text()),
                ("parentMessageId", text()),
            ],
        ),
        (
            "SUBAGENT_FINISHED",
            vec![("subagentRunId", text())],
            vec![("result", any_json(false)), ("outcome", subagent_outcome)],
        ),
        (
            "SUBAGENT_ERROR",
            vec![("subagentRunId", text()), ("message", text())],
            vec![("code", text())],
        ),
        (
            "RAW",
            vec![("event", any_json(true))],
            vec![("source", text())],
        ),
        (
            "CUSTOM",
            vec![("name", text()), ("value", any_json(true))],
            vec![],
        ),
    ];
    assert_eq!(events.len(), 31);
    let events = events.into_iter().map(|(kind, required, own)| {
        let mut optional = vec![
            ("timestamp", integer(-(1 << 53) + 1)),
            ("rawEvent", any_json(false)),
            ("metadata", object_json()),
        ];
        let is_whole = kind.starts_with("RUN_") || kind == "MESSAGES_SNAPSHOT";
        if !is_whole && !kind.starts_with("SUBAGENT_") {
            optional.push(("subagentRunId", text()));
        }
        optional.extend(own);
        tagged("type", kind, object(required, optional))
    });
    Union::new(events)
}
