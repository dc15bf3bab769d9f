//! Handling of content that AG-UI 1.0 does not know. An unknown event, union member or field is dropped with a warning;
//! the event model checks known fields. An app may keep unknown events and fields (in `extra`), to read them itself.
//!
//! Source: AG-UI 1.0 (processing), and the enforcement stage of the reference client `@ag-ui/client` 1.0.0.

use super::shapes::{Field, Shape, nested};
use crate::event::{Common, Event, PROTOCOL_VERSION};
use serde_json::{Map, Value};

/// The warnings of one frame, up to a limit.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    pub(super) texts: Vec<String>,
    pub(super) more: usize,
}

impl Warnings {
    const MAX_TEXTS: usize = 16;

    pub(super) fn push(&mut self, text: impl Into<String>) {
        if self.texts.len() < Self::MAX_TEXTS {
            self.texts.push(text.into());
        } else {
            self.more += 1;
        }
    }
}

/// The handling of events and fields that AG-UI 1.0 does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Unknown {
    /// Unknown events and fields are dropped, as the protocol requires.
    #[default]
    Dropped,
    /// Unknown events and fields are kept.
    Kept,
}

/// Drops the content of an event's object that AG-UI 1.0 does not know.
pub(super) fn enforce(event: &mut Map<String, Value>, unknown: Unknown, warnings: &mut Warnings) {
    let Some(Value::String(kind)) = event.get("type") else {
        return;
    };
    let kind = kind.clone();
    let mut found = Vec::new();
    for (name, shape) in nested(&kind) {
        if let Some(value) = event.get_mut(*name) {
            let mut walk = Walk {
                path: format!("/{name}"),
                found: &mut found,
                strip: unknown == Unknown::Dropped,
            };
            if walk.visit(value, shape) == Verdict::Unknown {
                found.clear();
                event.shift_remove(*name);
                found.push(Finding::Dropped(format!("/{name}")));
            }
        }
    }
    for finding in found {
        warnings.push(match finding {
            Finding::Dropped(path) => format!(
                "{kind}: dropped {path}: AG-UI {PROTOCOL_VERSION} does not know this kind of thing there"
            ),
            Finding::Unknown(path) => unknown_field(&kind, &path),
        });
    }
}

/// Checks the parsed event for unknown types, unknown fields and a newer agent. Returns whether the event is accepted.
pub(super) fn review(event: &mut Event, unknown: Unknown, warnings: &mut Warnings) -> bool {
    let kind = event.kind().to_owned();
    match event {
        Event::Unknown(_) => {
            warnings.push(format!(
                "AG-UI {PROTOCOL_VERSION} does not know the event {kind}; it changes nothing"
            ));
            return unknown == Unknown::Kept;
        }
        Event::RunStarted(start) => {
            if let Some(version) = &start.protocol_version {
                let ours = version_number(PROTOCOL_VERSION);
                if version_number(version).is_none_or(|theirs| Some(theirs) > ours) {
                    warnings.push(format!(
                        "the agent speaks AG-UI '{version}', this client {PROTOCOL_VERSION}; going on"
                    ));
                }
            }
        }
        _ => {}
    }
    let Some(place) = event.common_mut() else {
        return true;
    };
    let Some(common) = place else { return true };
    // Of AG-UI 1.1.
    let is_newer =
        |field: &str| kind == "REASONING_ENCRYPTED_VALUE" && field == "encryptedValueType";
    for field in common.extra.keys().filter(|field| !is_newer(field)) {
        warnings.push(unknown_field(&kind, &format!("/{field}")));
    }
    if unknown == Unknown::Dropped {
        common.extra.retain(|field, _| is_newer(field));
        if **common == Common::default() {
            *place = None;
        }
    }
    true
}

fn unknown_field(kind: &str, path: &str) -> String {
    format!("{kind}: AG-UI {PROTOCOL_VERSION} does not know the field {path}; it changes nothing")
}

/// A version as the protocol writes it: two runs of digits.
pub(super) fn version_number(version: &str) -> Option<(u64, u64)> {
    let number = |digits: &str| {
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| digits.parse().ok()).flatten()
    };
    let (major, minor) = version.split_once('.')?;
    Some((number(major)?, number(minor)?))
}

/// Removes the content that AG-UI 1.0 does not know from a value to send, since receivers are strict.
pub(super) fn strip(value: &mut Value, shape: &Shape) {
    let mut walk = Walk {
        path: String::new(),
        found: &mut Vec::new(),
        strip: true,
    };
    walk.visit(value, shape);
}

enum Finding {
    Dropped(String),
    Unknown(String),
}

#[derive(PartialEq)]
enum Verdict {
    Known,
    Unknown,
}

struct Walk<'a> {
    path: String,
    found: &'a mut Vec<Finding>,
    /// Whether unknown fields are taken out.
    strip: bool,
}

impl Walk<'_> {
    /// Walks a value; one of the wrong JSON type is left for the model to refuse.
    fn visit(&mut self, value: &mut Value, shape: &Shape) -> Verdict {
        match (shape, value) {
            (Shape::Object(fields), Value::Object(object)) => self.object(object, fields),
            (Shape::List(item), Value::Array(items)) => {
                self.list(items, item);
                Verdict::Known
            }
            (Shape::Union { tag, members, .. }, Value::Object(object)) => {
                let tag = object.get(*tag).and_then(Value::as_str);
                match members.iter().find(|(name, _)| Some(*name) == tag) {
                    Some((_, Shape::Object(fields))) => self.object(object, fields),
                    Some(_) => Verdict::Known,
                    None => Verdict::Unknown,
                }
            }
            _ => Verdict::Known,
        }
    }

    fn object(&mut self, object: &mut Map<String, Value>, fields: &[Field]) -> Verdict {
        let known = |name: &str| fields.iter().any(|(known, _)| *known == name);
        for name in object.keys().filter(|name| !known(name)) {
            self.found
                .push(Finding::Unknown(format!("{}/{name}", self.path)));
        }
        if self.strip {
            object.retain(|name, _| known(name));
        }
        for (name, shape) in fields {
            let Some(value) = object.get_mut(*name) else {
                continue;
            };
            let (before, length) = (self.found.len(), self.path.len());
            self.path.push('/');
            self.path.push_str(name);
            let verdict = self.visit(value, shape);
            if verdict == Verdict::Unknown {
                self.found.truncate(before);
                if !matches!(
                    shape,
                    Shape::Union {
                        required: false,
                        ..
                    }
                ) {
                    self.path.truncate(length);
                    return Verdict::Unknown;
                }
                self.found.push(Finding::Dropped(self.path.clone()));
                object.shift_remove(*name);
            }
            self.path.truncate(length);
        }
        Verdict::Known
    }

    fn list(&mut self, items: &mut Vec<Value>, item: &Shape) {
        let length = self.path.len();
        let mut index = 0;
        items.retain_mut(|value| {
            let before = self.found.len();
            self.path.push_str(&format!("/{index}"));
            index += 1;
            let known = self.visit(value, item) == Verdict::Known;
            if !known {
                self.found.truncate(before);
                self.found.push(Finding::Dropped(self.path.clone()));
            }
            self.path.truncate(length);
            known
        });
    }
}
