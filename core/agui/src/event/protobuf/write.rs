//! From events to protobuf messages.

use super::EncodeError;
use super::table::{
    ACTIVITY_CONTENT, Arm, BASE_EVENT, CALL_ARGS, CONTENT_PARTS, Field, FieldKind, Form, Message,
    OPERATIONS, Presence, REASONING_CONTENT, TEXT_CONTENT, arm_for,
};
use crate::event::{Event, EventRef};
use serde_json::{Map, Value};

/// Appends an event's message to `out`.
pub(super) fn event(event: EventRef<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    match event {
        EventRef::TextMessageContent { message_id, delta } => {
            piece(TEXT_CONTENT, 2, message_id, delta, out);
        }
        EventRef::ToolCallArgs {
            tool_call_id,
            delta,
        } => piece(CALL_ARGS, 2, tool_call_id, delta, out),
        EventRef::ReasoningMessageContent { message_id, delta } => {
            piece(REASONING_CONTENT, 3, message_id, delta, out);
        }
        EventRef::Whole(event) => return whole(event, out),
    }
    Ok(())
}

/// A delta and nothing besides: its id and its text have the numbers `id_field` and the next.
fn piece(arm: u32, id_field: u32, id: &str, delta: &str, out: &mut Vec<u8>) {
    let mut message = Vec::with_capacity(id.len() + delta.len() + 16);
    // The type's number is one less than the envelope's here, and small.
    let kind = [8, u8::try_from(arm - 1).unwrap_or_default()];
    bytes(1, &kind, &mut message);
    text(id_field, id, &mut message);
    text(id_field + 1, delta, &mut message);
    bytes(arm, &message, out);
}

fn whole(event: &Event, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let unknown = || EncodeError::Unknown {
        kind: event.kind().to_owned(),
    };
    let arm = arm_for(event.kind()).ok_or_else(unknown)?;
    // An event is JSON in memory, which cannot fail.
    let Ok(Value::Object(mut object)) = serde_json::to_value(event) else {
        return Err(unknown());
    };
    let mut body = Vec::new();
    base(arm, &object, &mut body);
    message(&arm.message, &mut object, &mut body);
    bytes(arm.number, &body, out);
    Ok(())
}

fn base(arm: &Arm, event: &Map<String, Value>, out: &mut Vec<u8>) {
    let mut base = Vec::new();
    if arm.type_number != 0 {
        integer(1, u64::from(arm.type_number), &mut base);
    }
    for field in BASE_EVENT {
        if let Some(value) = event.get(field.name) {
            one(field, value, &mut base);
        }
    }
    bytes(1, &base, out);
}

fn message(message: &Message, object: &mut Map<String, Value>, out: &mut Vec<u8>) {
    spread(message.form, object);
    fields(message.fields, object, out);
}

fn fields(fields: &[Field], object: &Map<String, Value>, out: &mut Vec<u8>) {
    for field in fields {
        match (object.get(field.name), field.presence) {
            (None, _) => {}
            (Some(Value::Array(items)), Presence::List | Presence::AlwaysList) => {
                for item in items {
                    one(field, item, out);
                }
            }
            (Some(Value::String(text)), Presence::Always) if text.is_empty() => {}
            (Some(value), _) => one(field, value, out),
        }
    }
}

/// Writes one value of a field; a value of the wrong kind is left out.
fn one(field: &Field, value: &Value, out: &mut Vec<u8>) {
    match (&field.kind, value) {
        (FieldKind::Text, Value::String(value)) => bytes(field.number, value.as_bytes(), out),
        (FieldKind::Bool, Value::Bool(value)) => integer(field.number, u64::from(*value), out),
        (FieldKind::Integer, Value::Number(value)) => {
            if let Some(value) = value.as_i64() {
                integer(field.number, value.cast_unsigned(), out);
            }
        }
        (FieldKind::Operation, Value::String(name)) => {
            let number = OPERATIONS.iter().position(|known| known == name);
            // The first name is the meaning of an absent number.
            if let Some(number @ 1..) = number {
                integer(field.number, number as u64, out);
            }
        }
        (FieldKind::Any, value) => bytes(field.number, &any(value), out),
        (FieldKind::Object, Value::Object(object)) => bytes(field.number, &structure(object), out),
        (FieldKind::Message(known), Value::Object(object)) => {
            let mut body = Vec::new();
            message(known, &mut object.clone(), &mut body);
            bytes(field.number, &body, out);
        }
        (FieldKind::Union(arms), Value::Object(object)) => {
            let name = object.get("type").and_then(Value::as_str);
            if let Some((number, _, known)) = arms.iter().find(|(_, known, _)| Some(*known) == name)
            {
                let mut body = Vec::new();
                fields(known, object, &mut body);
                let mut union = Vec::new();
                bytes(*number, &body, &mut union);
                bytes(field.number, &union, out);
            }
        }
        _ => {}
    }
}

/// Puts what has another form in JSON into the fields that it has here.
fn spread(form: Form, object: &mut Map<String, Value>) {
    match form {
        Form::Plain => {}
        Form::Message | Form::ToolCallResult => {
            let field = match object.get("content") {
                Some(Value::Array(_)) => CONTENT_PARTS,
                Some(Value::Object(_)) => ACTIVITY_CONTENT,
                _ => return,
            };
            if let Some(content) = object.shift_remove("content") {
                object.insert(field.to_owned(), content);
            }
        }
        Form::RunFinished | Form::SubagentFinished => {
            let Some(Value::Object(mut outcome)) = object.shift_remove("outcome") else {
                return;
            };
            for list in ["pendingToolCallIds", "interrupts", "interruptIds"] {
                if let Some(items) = outcome.shift_remove(list) {
                    object.insert(list.to_owned(), items);
                }
            }
            if let Some(kind) = outcome.shift_remove("type") {
                object.insert("outcome".to_owned(), kind);
            }
        }
    }
}

/// A `google.protobuf.Value`.
fn any(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    match value {
        Value::Null => integer(1, 0, &mut out),
        Value::Number(number) => {
            varint((2 << 3) | 1, &mut out);
            let float = number.as_f64().unwrap_or_default();
            out.extend_from_slice(&float.to_le_bytes());
        }
        Value::String(text) => bytes(3, text.as_bytes(), &mut out),
        Value::Bool(value) => integer(4, u64::from(*value), &mut out),
        Value::Object(object) => bytes(5, &structure(object), &mut out),
        Value::Array(items) => {
            let mut list = Vec::new();
            for item in items {
                bytes(1, &any(item), &mut list);
            }
            bytes(6, &list, &mut out);
        }
    }
    out
}

/// A `google.protobuf.Struct`.
fn structure(object: &Map<String, Value>) -> Vec<u8> {
    let mut out = Vec::new();
    for (key, value) in object {
        let mut entry = Vec::new();
        text(1, key, &mut entry);
        bytes(2, &any(value), &mut entry);
        bytes(1, &entry, &mut out);
    }
    out
}

/// A text that is never absent: an empty one is not written.
fn text(number: u32, text: &str, out: &mut Vec<u8>) {
    if !text.is_empty() {
        bytes(number, text.as_bytes(), out);
    }
}

fn bytes(number: u32, value: &[u8], out: &mut Vec<u8>) {
    varint(u64::from((number << 3) | 2), out);
    varint(value.len() as u64, out);
    out.extend_from_slice(value);
}

fn integer(number: u32, value: u64, out: &mut Vec<u8>) {
    varint(u64::from(number << 3), out);
    varint(value, out);
}

fn varint(value: u64, out: &mut Vec<u8>) {
    // Writing into memory cannot fail.
    let _ = quick_protobuf::Writer::new(out).write_varint(value);
}
