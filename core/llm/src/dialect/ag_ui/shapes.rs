//! The closed objects and unions of AG-UI 1.0: the part of its JSON Schema that decides which content is unknown.

/// The shape of a value. Only values that contain closed objects or unions are described; all others may be anything.
pub(super) enum Shape {
    Any,
    /// An object with these fields and no others.
    Object(&'static [Field]),
    List(&'static Self),
    /// Objects that a field tells apart.
    Union {
        tag: &'static str,
        members: &'static [(&'static str, Self)],
        /// Whether the field that holds it must be there, so that an unknown member takes its holder with it.
        required: bool,
    },
}

pub(super) type Field = (&'static str, Shape);

const fn any(name: &'static str) -> Field {
    (name, Shape::Any)
}

const SOURCE: Shape = Shape::Union {
    tag: "type",
    members: &[
        (
            "data",
            Shape::Object(&[any("type"), any("value"), any("mimeType")]),
        ),
        (
            "url",
            Shape::Object(&[any("type"), any("value"), any("mimeType")]),
        ),
        (
            "file",
            Shape::Object(&[any("type"), any("value"), any("provider"), any("mimeType")]),
        ),
    ],
    required: true,
};

const MEDIA: Shape = Shape::Object(&[any("type"), any("id"), any("metadata"), ("source", SOURCE)]);

/// The content of a message: a string, or these parts.
const CONTENT: Shape = Shape::List(&Shape::Union {
    tag: "type",
    members: &[
        (
            "text",
            Shape::Object(&[any("type"), any("id"), any("metadata"), any("text")]),
        ),
        ("image", MEDIA),
        ("audio", MEDIA),
        ("video", MEDIA),
        ("document", MEDIA),
    ],
    required: true,
});

const TOOL_CALL: Shape = Shape::Object(&[
    any("id"),
    any("type"),
    ("function", Shape::Object(&[any("name"), any("arguments")])),
    any("encryptedValue"),
    any("encryptedValueType"),
    any("metadata"),
]);

/// A message of one role: what all messages have, and its own.
macro_rules! message {
    (encrypted; $($own:expr),*) => {
        message!(any("encryptedValue"), any("encryptedValueType"), $($own),*)
    };
    ($($own:expr),*) => {
        Shape::Object(&[
            any("id"),
            any("role"),
            any("metadata"),
            any("subagentRunId"),
            $($own),*
        ])
    };
}

/// One message. `encryptedValueType` is of AG-UI 1.1.
pub(super) const MESSAGE: Shape = Shape::Union {
    tag: "role",
    members: &[
        (
            "developer",
            message!(encrypted; any("content"), any("name")),
        ),
        ("system", message!(encrypted; any("content"), any("name"))),
        (
            "assistant",
            message!(encrypted; any("content"), any("name"), ("toolCalls", Shape::List(&TOOL_CALL))),
        ),
        (
            "user",
            message!(encrypted; ("content", CONTENT), any("name")),
        ),
        (
            "tool",
            message!(
                encrypted; ("content", CONTENT),
                any("toolCallId"),
                any("error")
            ),
        ),
        ("activity", message!(any("content"), any("activityType"))),
        ("reasoning", message!(encrypted; any("content"))),
    ],
    required: true,
};

pub(super) const TOOL: Shape = Shape::Object(&[
    any("name"),
    any("description"),
    any("parameters"),
    any("metadata"),
]);

pub(super) const RESUME: Shape = Shape::Object(&[
    any("interruptId"),
    any("status"),
    any("payload"),
    any("metadata"),
]);

pub(super) const CONTEXT: Shape = Shape::Object(&[any("description"), any("value")]);

const INPUT: Shape = Shape::Object(&[
    any("threadId"),
    any("runId"),
    any("protocolVersion"),
    any("parentRunId"),
    any("state"),
    ("messages", Shape::List(&MESSAGE)),
    ("tools", Shape::List(&TOOL)),
    ("context", Shape::List(&CONTEXT)),
    any("forwardedProps"),
    ("resume", Shape::List(&RESUME)),
]);

const INTERRUPT: Shape = Shape::Object(&[
    any("id"),
    any("reason"),
    any("message"),
    any("toolCallId"),
    any("responseSchema"),
    any("expiresAt"),
    any("metadata"),
    any("subagentRunId"),
]);

const OUTCOME: Shape = Shape::Union {
    tag: "type",
    members: &[
        (
            "success",
            Shape::Object(&[any("type"), any("pendingToolCallIds")]),
        ),
        (
            "interrupt",
            Shape::Object(&[any("type"), ("interrupts", Shape::List(&INTERRUPT))]),
        ),
        ("cancelled", Shape::Object(&[any("type")])),
    ],
    required: false,
};

const SUBAGENT_OUTCOME: Shape = Shape::Union {
    tag: "type",
    members: &[
        ("success", Shape::Object(&[any("type")])),
        (
            "suspended",
            Shape::Object(&[any("type"), any("interruptIds")]),
        ),
    ],
    required: false,
};

const USAGE: Shape = Shape::List(&Shape::Object(&[
    any("provider"),
    any("model"),
    any("inputTokens"),
    any("outputTokens"),
    any("totalTokens"),
    any("reasoningTokens"),
    any("cachedInputTokens"),
    any("cacheWriteInputTokens"),
]));

/// Operations of a JSON Patch: RFC 6902 leaves their members open, so they are distinguished only by `op`.
const PATCH: Shape = Shape::List(&Shape::Union {
    tag: "op",
    members: &[
        ("add", Shape::Any),
        ("remove", Shape::Any),
        ("replace", Shape::Any),
        ("move", Shape::Any),
        ("copy", Shape::Any),
        ("test", Shape::Any),
    ],
    required: true,
});

/// The fields of an event that hold closed objects or unions.
pub(super) fn nested(kind: &str) -> &'static [Field] {
    match kind {
        "RUN_STARTED" => &[("input", INPUT)],
        "RUN_FINISHED" => &[("outcome", OUTCOME), ("usage", USAGE)],
        "RUN_ERROR" => &[("usage", USAGE)],
        "TOOL_CALL_RESULT" => &[("content", CONTENT)],
        "STATE_DELTA" => &[("delta", PATCH)],
        "ACTIVITY_DELTA" => &[("patch", PATCH)],
        "MESSAGES_SNAPSHOT" => &[("messages", Shape::List(&MESSAGE))],
        "SUBAGENT_FINISHED" => &[("outcome", SUBAGENT_OUTCOME)],
        _ => &[],
    }
}
