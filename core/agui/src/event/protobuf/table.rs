//! The messages of AG-UI's protobuf encoding, by their field numbers, and the names that the fields have in JSON.
//!
//! Source: `events.proto`, `types.proto` and `patch.proto` of AG-UI 1.0, as `@ag-ui/proto` 1.0.0 has them.

/// The kind of a field's value.
pub(super) enum FieldKind {
    Text,
    Bool,
    /// An `int64`.
    Integer,
    /// A `google.protobuf.Value`: any JSON.
    Any,
    /// A `google.protobuf.Struct`: a JSON object.
    Object,
    Message(&'static Message),
    /// A message whose only field is a `oneof`: in JSON an object that `type` tells apart.
    Union(&'static [(u32, &'static str, &'static [Field])]),
    /// The base event, whose fields are the event's own in JSON.
    Base,
    /// The enum of a JSON Patch's operations.
    Operation,
}

/// The meaning of an absent field.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// The empty text: it is never absent in JSON.
    Always,
    /// Absent in JSON too.
    Optional,
    /// Any number of times; in JSON a list.
    List,
    /// The same; in JSON never absent.
    AlwaysList,
}

pub(super) struct Field {
    pub(super) number: u32,
    pub(super) name: &'static str,
    pub(super) kind: FieldKind,
    pub(super) presence: Presence,
}

/// A message that has another form in JSON than its fields say.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Plain,
    /// The content is in one of three fields, by what it is.
    Message,
    /// The same for a tool's result, which is text or parts.
    ToolCallResult,
    /// The outcome's kind and its lists are fields of the event.
    RunFinished,
    SubagentFinished,
}

pub(super) struct Message {
    pub(super) fields: &'static [Field],
    pub(super) form: Form,
}

/// One event: its number in the envelope, its number among the types, its `type` and its fields.
pub(super) struct Arm {
    pub(super) number: u32,
    pub(super) type_number: u32,
    pub(super) kind: &'static str,
    pub(super) message: Message,
}

/// The fields of an activity's content, and of a message's parts.
pub(super) const ACTIVITY_CONTENT: &str = "activityContent";
pub(super) const CONTENT_PARTS: &str = "contentParts";

/// The envelope's entries for deltas of text, calls and reasoning.
pub(super) const TEXT_CONTENT: u32 = 2;
pub(super) const CALL_ARGS: u32 = 5;
pub(super) const REASONING_CONTENT: u32 = 27;

const fn field(number: u32, name: &'static str, kind: FieldKind, presence: Presence) -> Field {
    Field {
        number,
        name,
        kind,
        presence,
    }
}

const fn text(number: u32, name: &'static str) -> Field {
    field(number, name, FieldKind::Text, Presence::Always)
}

const fn maybe(number: u32, name: &'static str) -> Field {
    field(number, name, FieldKind::Text, Presence::Optional)
}

const fn any(number: u32, name: &'static str) -> Field {
    field(number, name, FieldKind::Any, Presence::Optional)
}

const fn object(number: u32, name: &'static str) -> Field {
    field(number, name, FieldKind::Object, Presence::Optional)
}

const fn integer(number: u32, name: &'static str) -> Field {
    field(number, name, FieldKind::Integer, Presence::Optional)
}

const fn list(number: u32, name: &'static str, kind: FieldKind) -> Field {
    field(number, name, kind, Presence::List)
}

const fn always_list(number: u32, name: &'static str, kind: FieldKind) -> Field {
    field(number, name, kind, Presence::AlwaysList)
}

const BASE: Field = field(1, "", FieldKind::Base, Presence::Optional);

const fn subagent(number: u32) -> Field {
    maybe(number, "subagentRunId")
}

const fn plain(fields: &'static [Field]) -> Message {
    Message {
        fields,
        form: Form::Plain,
    }
}

/// The base event, but for its type, which the envelope says too.
pub(super) const BASE_EVENT: &[Field] = &[
    integer(2, "timestamp"),
    any(3, "rawEvent"),
    object(4, "metadata"),
];

const SOURCE: FieldKind = FieldKind::Union(&[
    (1, "data", &[text(1, "value"), text(2, "mimeType")]),
    (2, "url", &[text(1, "value"), maybe(2, "mimeType")]),
    (
        3,
        "file",
        &[text(1, "value"), maybe(2, "provider"), maybe(3, "mimeType")],
    ),
]);

const MEDIA: &[Field] = &[
    field(1, "source", SOURCE, Presence::Optional),
    any(2, "metadata"),
    maybe(3, "id"),
];

const PART: FieldKind = FieldKind::Union(&[
    (
        1,
        "text",
        &[text(1, "text"), maybe(2, "id"), any(3, "metadata")],
    ),
    (2, "image", MEDIA),
    (3, "audio", MEDIA),
    (4, "video", MEDIA),
    (5, "document", MEDIA),
]);

const FUNCTION: Message = plain(&[text(1, "name"), text(2, "arguments")]);

const TOOL_CALL: Message = plain(&[
    text(1, "id"),
    text(2, "type"),
    field(
        3,
        "function",
        FieldKind::Message(&FUNCTION),
        Presence::Optional,
    ),
    object(4, "metadata"),
    maybe(5, "encryptedValue"),
]);

const MESSAGE: Message = Message {
    fields: &[
        text(1, "id"),
        text(2, "role"),
        maybe(3, "content"),
        maybe(4, "name"),
        list(5, "toolCalls", FieldKind::Message(&TOOL_CALL)),
        maybe(6, "toolCallId"),
        maybe(7, "error"),
        list(8, CONTENT_PARTS, PART),
        object(9, "metadata"),
        subagent(10),
        maybe(11, "encryptedValue"),
        maybe(12, "activityType"),
        object(13, ACTIVITY_CONTENT),
    ],
    form: Form::Message,
};

const OPERATION: Message = plain(&[
    field(1, "op", FieldKind::Operation, Presence::Always),
    text(2, "path"),
    maybe(3, "from"),
    any(4, "value"),
]);

const INTERRUPT: Message = plain(&[
    text(1, "id"),
    text(2, "reason"),
    maybe(3, "message"),
    maybe(4, "toolCallId"),
    any(5, "responseSchema"),
    maybe(6, "expiresAt"),
    any(7, "metadata"),
    subagent(8),
]);

const USAGE: Message = plain(&[
    maybe(1, "provider"),
    maybe(2, "model"),
    integer(3, "inputTokens"),
    integer(4, "outputTokens"),
    integer(5, "totalTokens"),
    integer(6, "reasoningTokens"),
    integer(7, "cachedInputTokens"),
    integer(8, "cacheWriteInputTokens"),
]);

const TOOL: Message = plain(&[
    text(1, "name"),
    text(2, "description"),
    any(3, "parameters"),
    object(4, "metadata"),
]);

const CONTEXT: Message = plain(&[text(1, "description"), text(2, "value")]);

const RESUME: Message = plain(&[
    text(1, "interruptId"),
    text(2, "status"),
    any(3, "payload"),
    object(4, "metadata"),
]);

const INPUT: Message = plain(&[
    text(1, "threadId"),
    text(2, "runId"),
    maybe(3, "parentRunId"),
    any(4, "state"),
    always_list(5, "messages", FieldKind::Message(&MESSAGE)),
    // Always a list, since agents from before 1.0 must have them.
    always_list(6, "tools", FieldKind::Message(&TOOL)),
    always_list(7, "context", FieldKind::Message(&CONTEXT)),
    any(8, "forwardedProps"),
    list(9, "resume", FieldKind::Message(&RESUME)),
    maybe(10, "protocolVersion"),
]);

const fn arm(number: u32, kind: &'static str, fields: &'static [Field]) -> Arm {
    formed(number, kind, Form::Plain, fields)
}

const fn formed(number: u32, kind: &'static str, form: Form, fields: &'static [Field]) -> Arm {
    let type_number = match number {
        // The type's numbers are older than the envelope's.
        17 | 18 => number + 2,
        19..=21 => number - 3,
        _ => number - 1,
    };
    Arm {
        number,
        type_number,
        kind,
        message: Message { fields, form },
    }
}

/// The entries of the envelope, in the order of their numbers, which begin with 1.
pub(super) const ARMS: [Arm; 31] = [
    arm(
        1,
        "TEXT_MESSAGE_START",
        &[
            BASE,
            text(2, "messageId"),
            maybe(3, "role"),
            maybe(4, "name"),
            subagent(5),
        ],
    ),
    arm(
        TEXT_CONTENT,
        "TEXT_MESSAGE_CONTENT",
        &[BASE, text(2, "messageId"), text(3, "delta"), subagent(4)],
    ),
    arm(
        3,
        "TEXT_MESSAGE_END",
        &[BASE, text(2, "messageId"), subagent(3)],
    ),
    arm(
        4,
        "TOOL_CALL_START",
        &[
            BASE,
            text(2, "toolCallId"),
            text(3, "toolCallName"),
            maybe(4, "parentMessageId"),
            subagent(5),
        ],
    ),
    arm(
        CALL_ARGS,
        "TOOL_CALL_ARGS",
        &[BASE, text(2, "toolCallId"), text(3, "delta"), subagent(4)],
    ),
    arm(
        6,
        "TOOL_CALL_END",
        &[BASE, text(2, "toolCallId"), subagent(3)],
    ),
    arm(
        7,
        "STATE_SNAPSHOT",
        &[BASE, any(2, "snapshot"), subagent(3)],
    ),
    arm(
        8,
        "STATE_DELTA",
        &[
            BASE,
            always_list(2, "delta", FieldKind::Message(&OPERATION)),
            subagent(3),
        ],
    ),
    arm(
        9,
        "MESSAGES_SNAPSHOT",
        &[
            BASE,
            always_list(2, "messages", FieldKind::Message(&MESSAGE)),
        ],
    ),
    arm(
        10,
        "RAW",
        &[BASE, any(2, "event"), maybe(3, "source"), subagent(4)],
    ),
    arm(
        11,
        "CUSTOM",
        &[BASE, text(2, "name"), any(3, "value"), subagent(4)],
    ),
    arm(
        12,
        "RUN_STARTED",
        &[
            BASE,
            text(2, "threadId"),
            text(3, "runId"),
            maybe(4, "parentRunId"),
            field(5, "input", FieldKind::Message(&INPUT), Presence::Optional),
            maybe(6, "protocolVersion"),
        ],
    ),
    formed(
        13,
        "RUN_FINISHED",
        Form::RunFinished,
        &[
            BASE,
            text(2, "threadId"),
            text(3, "runId"),
            any(4, "result"),
            maybe(5, "outcome"),
            list(6, "interrupts", FieldKind::Message(&INTERRUPT)),
            list(7, "usage", FieldKind::Message(&USAGE)),
            list(8, "pendingToolCallIds", FieldKind::Text),
        ],
    ),
    arm(
        14,
        "RUN_ERROR",
        &[
            BASE,
            maybe(2, "code"),
            text(3, "message"),
            list(4, "usage", FieldKind::Message(&USAGE)),
        ],
    ),
    arm(
        15,
        "STEP_STARTED",
        &[BASE, text(2, "stepName"), subagent(3)],
    ),
    arm(
        16,
        "STEP_FINISHED",
        &[BASE, text(2, "stepName"), subagent(3)],
    ),
    arm(
        17,
        "TEXT_MESSAGE_CHUNK",
        &[
            BASE,
            maybe(2, "messageId"),
            maybe(3, "role"),
            maybe(4, "delta"),
            maybe(5, "name"),
            subagent(6),
        ],
    ),
    arm(
        18,
        "TOOL_CALL_CHUNK",
        &[
            BASE,
            maybe(2, "toolCallId"),
            maybe(3, "toolCallName"),
            maybe(4, "parentMessageId"),
            maybe(5, "delta"),
            subagent(6),
        ],
    ),
    arm(
        19,
        "SUBAGENT_STARTED",
        &[
            BASE,
            text(2, "subagentRunId"),
            text(3, "name"),
            maybe(4, "description"),
            maybe(5, "parentSubagentRunId"),
            maybe(6, "parentToolCallId"),
            maybe(7, "parentMessageId"),
        ],
    ),
    formed(
        20,
        "SUBAGENT_FINISHED",
        Form::SubagentFinished,
        &[
            BASE,
            text(2, "subagentRunId"),
            any(3, "result"),
            maybe(4, "outcome"),
            list(5, "interruptIds", FieldKind::Text),
        ],
    ),
    arm(
        21,
        "SUBAGENT_ERROR",
        &[
            BASE,
            text(2, "subagentRunId"),
            text(3, "message"),
            maybe(4, "code"),
        ],
    ),
    formed(
        22,
        "TOOL_CALL_RESULT",
        Form::ToolCallResult,
        &[
            BASE,
            subagent(2),
            text(3, "messageId"),
            text(4, "toolCallId"),
            maybe(5, "content"),
            maybe(6, "role"),
            list(7, CONTENT_PARTS, PART),
        ],
    ),
    arm(
        23,
        "ACTIVITY_SNAPSHOT",
        &[
            BASE,
            subagent(2),
            text(3, "messageId"),
            text(4, "activityType"),
            object(5, "content"),
            field(6, "replace", FieldKind::Bool, Presence::Optional),
        ],
    ),
    arm(
        24,
        "ACTIVITY_DELTA",
        &[
            BASE,
            subagent(2),
            text(3, "messageId"),
            text(4, "activityType"),
            always_list(5, "patch", FieldKind::Message(&OPERATION)),
        ],
    ),
    arm(
        25,
        "REASONING_START",
        &[BASE, subagent(2), text(3, "messageId")],
    ),
    arm(
        26,
        "REASONING_MESSAGE_START",
        &[BASE, subagent(2), text(3, "messageId"), text(4, "role")],
    ),
    arm(
        REASONING_CONTENT,
        "REASONING_MESSAGE_CONTENT",
        &[BASE, subagent(2), text(3, "messageId"), text(4, "delta")],
    ),
    arm(
        28,
        "REASONING_MESSAGE_END",
        &[BASE, subagent(2), text(3, "messageId")],
    ),
    arm(
        29,
        "REASONING_MESSAGE_CHUNK",
        &[BASE, subagent(2), maybe(3, "messageId"), maybe(4, "delta")],
    ),
    arm(
        30,
        "REASONING_END",
        &[BASE, subagent(2), text(3, "messageId")],
    ),
    arm(
        31,
        "REASONING_ENCRYPTED_VALUE",
        &[
            BASE,
            subagent(2),
            text(3, "subtype"),
            text(4, "entityId"),
            text(5, "encryptedValue"),
        ],
    ),
];

/// The operations of a JSON Patch, by their numbers.
pub(super) const OPERATIONS: [&str; 6] = ["add", "remove", "replace", "move", "copy", "test"];

/// The envelope's entry of this number.
pub(super) fn arm_of(number: u32) -> Option<&'static Arm> {
    const TABLE: &[Arm] = &ARMS;
    TABLE.get(usize::try_from(number).ok()?.checked_sub(1)?)
}

/// The envelope's entry for this `type`.
pub(super) fn arm_for(kind: &str) -> Option<&'static Arm> {
    const TABLE: &[Arm] = &ARMS;
    TABLE.iter().find(|arm| arm.kind == kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entries_stand_at_their_numbers() {
        for number in 1..=31 {
            assert_eq!(arm_of(number).map(|arm| arm.number), Some(number));
        }
        assert!(arm_of(0).is_none() && arm_of(32).is_none());
    }

    #[test]
    fn the_types_have_the_numbers_of_the_reference() {
        for (kind, number) in [
            ("TEXT_MESSAGE_START", 0),
            ("STEP_FINISHED", 15),
            ("SUBAGENT_STARTED", 16),
            ("SUBAGENT_ERROR", 18),
            ("TEXT_MESSAGE_CHUNK", 19),
            ("TOOL_CALL_CHUNK", 20),
            ("TOOL_CALL_RESULT", 21),
            ("REASONING_ENCRYPTED_VALUE", 30),
        ] {
            assert_eq!(arm_for(kind).map(|arm| arm.type_number), Some(number));
        }
    }
}
