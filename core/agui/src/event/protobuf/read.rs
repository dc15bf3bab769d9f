//! Converts protobuf messages to the equivalent JSON objects: all later stages are the same for both encodings.

use super::ProtobufError;
use super::table::{
    ACTIVITY_CONTENT, Arm, BASE_EVENT, CALL_ARGS, CONTENT_PARTS, Field, FieldKind, Form,
    OPERATIONS, Presence, REASONING_CONTENT, TEXT_CONTENT, arm_of,
};
use crate::event::{DEEPEST, EventRef, Metadata};
use quick_protobuf::BytesReader;
use serde_json::{Map, Number, Value, json};

/// The content of an envelope.
pub enum Envelope {
    /// An event, as the equivalent JSON object.
    Known {
        /// The fields of the event, as JSON.
        event: Metadata,
        /// Whether the base event names the type that the envelope does. The envelope counts.
        is_of_declared_type: bool,
    },
    /// An event that this version does not know.
    Unknown,
}

const VARINT: u32 = 0;
const FIXED_64: u32 = 1;
const LENGTH: u32 = 2;

/// Reads an envelope.
///
/// # Errors
/// The message is malformed.
pub fn read(bytes: &[u8]) -> Result<Envelope, ProtobufError> {
    let mut known: Option<(&'static Arm, Vec<&[u8]>)> = None;
    let mut unknown = 0;
    let mut fields = Fields::new(bytes);
    while let Some((number, wire_type)) = fields.next()? {
        match (arm_of(number), wire_type) {
            (Some(arm), LENGTH) => {
                let payload = fields.bytes()?;
                match &mut known {
                    None => known = Some((arm, vec![payload])),
                    // By protobuf's rules, the parts of a message that is split are merged.
                    Some((first, payloads)) if first.number == arm.number => payloads.push(payload),
                    Some((first, _)) => {
                        return Err(malformed(format!(
                            "the envelope holds both {} and {}",
                            first.kind, arm.kind
                        )));
                    }
                }
            }
            (Some(arm), _) => {
                return Err(malformed(format!("{} is not a message", arm.kind)));
            }
            (None, LENGTH) => {
                walk(fields.bytes()?)?;
                unknown += 1;
            }
            (None, _) => fields.skip()?,
        }
    }
    let Some((arm, payloads)) = known else {
        return if unknown > 0 {
            Ok(Envelope::Unknown)
        } else {
            Err(malformed("the envelope is empty"))
        };
    };
    let mut read = Read::default();
    let mut event = Map::new();
    for payload in payloads {
        read.fields(payload, arm.message.fields, &mut event, 0)?;
    }
    complete(arm.message.fields, arm.message.form, &mut event)?;
    event.insert("type".to_owned(), arm.kind.into());
    Ok(Envelope::Known {
        event,
        is_of_declared_type: read.declared_type == u64::from(arm.type_number),
    })
}

/// Reads an envelope that holds one delta and nothing besides. For anything else, [`read`] decides what it is.
#[inline]
pub fn read_delta(bytes: &[u8]) -> Option<EventRef<'_>> {
    let mut envelope = Fields::new(bytes);
    let (arm, LENGTH) = envelope.next().ok()?? else {
        return None;
    };
    let (id_field, delta_field) = match arm {
        TEXT_CONTENT | CALL_ARGS => (2, 3),
        REASONING_CONTENT => (3, 4),
        _ => return None,
    };
    let payload = envelope.bytes().ok()?;
    if !envelope.is_over() {
        return None;
    }
    let (mut base, mut id, mut delta) = (None, None, None);
    let mut fields = Fields::new(payload);
    while let Some((number, wire_type)) = fields.next().ok()? {
        let slot = match number {
            1 => &mut base,
            number if number == id_field => &mut id,
            number if number == delta_field => &mut delta,
            _ => return None,
        };
        if wire_type != LENGTH || slot.replace(fields.bytes().ok()?).is_some() {
            return None;
        }
    }
    // A base event of nothing but the type: its tag, and a number of one byte.
    if base? != [8, u8::try_from(arm - 1).ok()?] {
        return None;
    }
    let id = std::str::from_utf8(id.unwrap_or_default()).ok()?;
    let delta = std::str::from_utf8(delta.unwrap_or_default()).ok()?;
    Some(match arm {
        TEXT_CONTENT => EventRef::TextMessageContent {
            message_id: id,
            delta,
        },
        CALL_ARGS => EventRef::ToolCallArgs {
            tool_call_id: id,
            delta,
        },
        _ => EventRef::ReasoningMessageContent {
            message_id: id,
            delta,
        },
    })
}

fn malformed(reason: impl Into<String>) -> ProtobufError {
    ProtobufError::Malformed {
        reason: reason.into(),
    }
}

impl From<quick_protobuf::Error> for ProtobufError {
    fn from(error: quick_protobuf::Error) -> Self {
        malformed(match error {
            quick_protobuf::Error::UnexpectedEndOfBuffer | quick_protobuf::Error::Varint => {
                "a field is cut off, or its length is wrong".to_owned()
            }
            quick_protobuf::Error::Utf8(_) => "a text is not UTF-8".to_owned(),
            other => other.to_string(),
        })
    }
}

/// The fields of one message.
struct Fields<'a> {
    reader: BytesReader,
    bytes: &'a [u8],
    tag: u32,
}

impl<'a> Fields<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self {
            reader: BytesReader::from_bytes(bytes),
            bytes,
            tag: 0,
        }
    }

    fn is_over(&self) -> bool {
        self.reader.is_eof()
    }

    /// The next field's number and wire type.
    fn next(&mut self) -> Result<Option<(u32, u32)>, ProtobufError> {
        if self.is_over() {
            return Ok(None);
        }
        self.tag = self.reader.next_tag(self.bytes)?;
        match (self.tag >> 3, self.tag & 7) {
            (0, _) => Err(malformed("a field has the number 0")),
            field => Ok(Some(field)),
        }
    }

    /// Returns what a field of wire type [`LENGTH`] holds.
    fn bytes(&mut self) -> Result<&'a [u8], ProtobufError> {
        // Asked before it is read: on small machines the reader's own sum of the two might overflow.
        let mut ahead = self.reader.clone();
        let length = ahead.read_varint32(self.bytes)?;
        if usize::try_from(length).map_or(true, |length| length > ahead.len()) {
            return Err(quick_protobuf::Error::UnexpectedEndOfBuffer.into());
        }
        Ok(self.reader.read_bytes(self.bytes)?)
    }

    fn varint(&mut self) -> Result<u64, ProtobufError> {
        Ok(self.reader.read_varint64(self.bytes)?)
    }

    fn double(&mut self) -> Result<f64, ProtobufError> {
        Ok(self.reader.read_double(self.bytes)?)
    }

    fn skip(&mut self) -> Result<(), ProtobufError> {
        Ok(self.reader.read_unknown(self.bytes, self.tag)?)
    }
}

/// Checks whether bytes are a message at all.
fn walk(bytes: &[u8]) -> Result<(), ProtobufError> {
    let mut fields = Fields::new(bytes);
    while fields.next()?.is_some() {
        fields.skip()?;
    }
    Ok(())
}

fn text(bytes: &[u8]) -> Result<String, ProtobufError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(malformed("a text is not UTF-8")),
    }
}

#[derive(Default)]
struct Read {
    declared_type: u64,
}

impl Read {
    /// Reads a message's fields into an object, which may hold some of them already. Fields that are not known, or not
    /// of the type that they are known by, mean nothing.
    fn fields(
        &mut self,
        bytes: &[u8],
        known: &'static [Field],
        object: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), ProtobufError> {
        let mut fields = Fields::new(bytes);
        while let Some((number, wire_type)) = fields.next()? {
            let field = known.iter().find(|field| field.number == number);
            match field.filter(|field| field.kind.wire_type() == wire_type) {
                Some(field) => self.field(&mut fields, field, object, depth)?,
                None => fields.skip()?,
            }
        }
        Ok(())
    }

    fn field(
        &mut self,
        fields: &mut Fields<'_>,
        field: &'static Field,
        object: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), ProtobufError> {
        if matches!(field.kind, FieldKind::Base) {
            return self.base(fields.bytes()?, object, depth);
        }
        let is_list = matches!(field.presence, Presence::List | Presence::AlwaysList);
        // A message that is split is merged; any other value is replaced by the next.
        let before = if is_list {
            None
        } else {
            object.shift_remove(field.name)
        };
        let value = self.value(fields, &field.kind, before, depth)?;
        if !is_list {
            object.insert(field.name.to_owned(), value);
        } else if let Value::Array(list) = object
            .entry(field.name)
            .or_insert_with(|| Value::Array(Vec::new()))
        {
            list.push(value);
        }
        Ok(())
    }

    fn value(
        &mut self,
        fields: &mut Fields<'_>,
        kind: &'static FieldKind,
        before: Option<Value>,
        depth: usize,
    ) -> Result<Value, ProtobufError> {
        let before = match before {
            Some(Value::Object(before)) => before,
            _ => Map::new(),
        };
        Ok(match kind {
            FieldKind::Text => Value::String(text(fields.bytes()?)?),
            FieldKind::Bool => Value::Bool(fields.varint()? != 0),
            // The bits of a two's complement.
            FieldKind::Integer => json!(fields.varint()?.cast_signed()),
            FieldKind::Operation => {
                let number = fields.varint()?;
                let name = usize::try_from(number)
                    .ok()
                    .and_then(|number| OPERATIONS.get(number));
                // An unknown operation has no name. Its number is not a valid name either, so the operation is dropped
                // later with a warning.
                name.map_or_else(|| number.to_string().into(), |name| (*name).into())
            }
            FieldKind::Any => any(fields.bytes()?, depth)?,
            FieldKind::Object => Value::Object(structure(fields.bytes()?, before, depth)?),
            FieldKind::Message(message) => {
                let mut object = before;
                self.fields(fields.bytes()?, message.fields, &mut object, depth + 1)?;
                complete(message.fields, message.form, &mut object)?;
                Value::Object(object)
            }
            FieldKind::Union(arms) => {
                let mut object = Map::new();
                let mut union = Fields::new(fields.bytes()?);
                let mut found: Option<(&u32, &str, &'static [Field])> = None;
                while let Some((number, wire_type)) = union.next()? {
                    let arm = arms.iter().find(|(known, ..)| *known == number);
                    let Some((number, name, known)) = arm.filter(|_| wire_type == LENGTH) else {
                        union.skip()?;
                        continue;
                    };
                    if found.is_some_and(|(found, ..)| found != number) {
                        return Err(malformed("a part is of two kinds at once"));
                    }
                    found = Some((number, name, known));
                    self.fields(union.bytes()?, known, &mut object, depth + 1)?;
                }
                if let Some((_, name, known)) = found {
                    complete(known, Form::Plain, &mut object)?;
                    object.insert("type".to_owned(), name.into());
                }
                // Without a `type` the object is of an unknown kind, and is treated as such later.
                Value::Object(object)
            }
            FieldKind::Base => Value::Null,
        })
    }

    fn base(
        &mut self,
        bytes: &[u8],
        object: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), ProtobufError> {
        let mut fields = Fields::new(bytes);
        while let Some((number, wire_type)) = fields.next()? {
            if (number, wire_type) == (1, VARINT) {
                self.declared_type = fields.varint()?;
            } else {
                fields.skip()?;
            }
        }
        self.fields(bytes, BASE_EVENT, object, depth)
    }
}

impl FieldKind {
    fn wire_type(&self) -> u32 {
        match self {
            Self::Bool | Self::Integer | Self::Operation => VARINT,
            _ => LENGTH,
        }
    }
}

/// Adds the fields that are never absent in JSON, and converts the message to its form there.
fn complete(
    fields: &'static [Field],
    form: Form,
    object: &mut Map<String, Value>,
) -> Result<(), ProtobufError> {
    for field in fields {
        let default = match field.presence {
            Presence::Always if matches!(field.kind, FieldKind::Operation) => OPERATIONS[0].into(),
            Presence::Always => "".into(),
            Presence::AlwaysList => Value::Array(Vec::new()),
            Presence::Optional | Presence::List => continue,
        };
        object.entry(field.name).or_insert(default);
    }
    match form {
        Form::Plain => Ok(()),
        Form::Message => content(object, true),
        Form::ToolCallResult => content(object, false),
        Form::RunFinished => {
            outcome(object, &["pendingToolCallIds", "interrupts"], "interrupt");
            Ok(())
        }
        Form::SubagentFinished => {
            outcome(object, &["interruptIds"], "");
            Ok(())
        }
    }
}

/// The content is in the one of three fields that its kind has, and there is only one.
fn content(object: &mut Map<String, Value>, is_message: bool) -> Result<(), ProtobufError> {
    let parts = object.shift_remove(CONTENT_PARTS);
    let activity = object.shift_remove(ACTIVITY_CONTENT);
    let role = object.get("role").and_then(Value::as_str).unwrap_or("");
    let takes_parts = !is_message || matches!(role, "user" | "tool");
    let has_text = object.contains_key("content");
    if usize::from(has_text) + usize::from(parts.is_some()) + usize::from(activity.is_some()) > 1 {
        return Err(malformed("a message has more than one content"));
    }
    let is_known = !is_message
        || matches!(
            role,
            "user" | "tool" | "developer" | "system" | "assistant" | "activity" | "reasoning"
        );
    let is_odd = (parts.is_some() && !takes_parts) || (activity.is_some() && role != "activity");
    if is_known && is_odd {
        return Err(malformed(format!(
            "a message of the role '{role}' has a content that the role does not have"
        )));
    }
    let content = match (parts, activity) {
        (Some(content), _) | (None, Some(content)) => Some(content),
        // No text and no part mean an empty list of parts.
        (None, None) if takes_parts && !has_text => Some(Value::Array(Vec::new())),
        (None, None) => None,
    };
    if let Some(content) = content {
        object.insert("content".to_owned(), content);
    }
    Ok(())
}

/// Merges the outcome's kind and its lists into one object. Lists that the kind does not have stay in it, for later
/// stages to find.
fn outcome(object: &mut Map<String, Value>, lists: &[&str], needs_list: &str) {
    let kind = match object.shift_remove("outcome") {
        Some(Value::String(kind)) if !kind.is_empty() => kind,
        // An absent outcome; lists without one are unknown fields of the event.
        _ => return,
    };
    let mut outcome = Map::new();
    for list in lists {
        if let Some(items) = object.shift_remove(*list) {
            outcome.insert((*list).to_owned(), items);
        }
    }
    if kind == needs_list {
        outcome
            .entry("interrupts")
            .or_insert_with(|| Value::Array(Vec::new()));
    }
    outcome.insert("type".to_owned(), kind.into());
    object.insert("outcome".to_owned(), Value::Object(outcome));
}

/// A `google.protobuf.Value`.
fn any(bytes: &[u8], depth: usize) -> Result<Value, ProtobufError> {
    if depth > DEEPEST {
        return Err(malformed(format!("it nests deeper than {DEEPEST} levels")));
    }
    let mut value = None;
    let mut fields = Fields::new(bytes);
    while let Some(field) = fields.next()? {
        // Of several kinds the last counts; objects and lists that are split are merged.
        value = Some(match (field, value.take()) {
            ((1, VARINT), _) => {
                fields.varint()?;
                Value::Null
            }
            ((2, FIXED_64), _) => number(fields.double()?)?,
            ((3, LENGTH), _) => Value::String(text(fields.bytes()?)?),
            ((4, VARINT), _) => Value::Bool(fields.varint()? != 0),
            ((5, LENGTH), before) => {
                let before = match before {
                    Some(Value::Object(before)) => before,
                    _ => Map::new(),
                };
                Value::Object(structure(fields.bytes()?, before, depth + 1)?)
            }
            ((6, LENGTH), before) => {
                let mut items = match before {
                    Some(Value::Array(before)) => before,
                    _ => Vec::new(),
                };
                let mut list = Fields::new(fields.bytes()?);
                while let Some(field) = list.next()? {
                    if field == (1, LENGTH) {
                        items.push(any(list.bytes()?, depth + 1)?);
                    } else {
                        list.skip()?;
                    }
                }
                Value::Array(items)
            }
            (_, before) => {
                fields.skip()?;
                match before {
                    Some(before) => before,
                    None => continue,
                }
            }
        });
    }
    value.ok_or_else(|| malformed("a JSON value is of no kind"))
}

/// Converts a number. Protobuf's values are floating-point, so an integer is written without a fraction.
fn number(float: f64) -> Result<Value, ProtobufError> {
    const LARGEST: f64 = 9_007_199_254_740_992.0;
    let is_whole = float.fract() == 0.0 && float.abs() <= LARGEST;
    let is_negative_zero = float == 0.0 && float.is_sign_negative();
    if is_whole && !is_negative_zero {
        // The number is an integer and in range.
        return Ok(json!(float as i64));
    }
    match Number::from_f64(float) {
        Some(number) => Ok(Value::Number(number)),
        None => Err(malformed("a number is not finite, which JSON cannot say")),
    }
}

/// A `google.protobuf.Struct`.
fn structure(
    bytes: &[u8],
    mut object: Map<String, Value>,
    depth: usize,
) -> Result<Map<String, Value>, ProtobufError> {
    let mut entries = Fields::new(bytes);
    while let Some(field) = entries.next()? {
        if field != (1, LENGTH) {
            entries.skip()?;
            continue;
        }
        let (mut key, mut value) = (String::new(), None);
        let mut entry = Fields::new(entries.bytes()?);
        while let Some(field) = entry.next()? {
            match field {
                (1, LENGTH) => key = text(entry.bytes()?)?,
                (2, LENGTH) => value = Some(any(entry.bytes()?, depth + 1)?),
                _ => entry.skip()?,
            }
        }
        let value = value.ok_or_else(|| malformed("a member of an object has no value"))?;
        object.insert(key, value);
    }
    Ok(object)
}
