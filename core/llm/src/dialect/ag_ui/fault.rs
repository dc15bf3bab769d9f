//! Finds the fault in a request by reading its parts one at a time. Only a request that cannot be read pays for this.

use crate::event::{Context, Message, Metadata, ResumeEntry, RunAgentInput, ToolDefinition};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Tells the kinds of things apart. What it names is known by now, so the fault is another member's.
const TAGS: [&str; 2] = ["role", "type"];

/// Returns the path of the field that cannot be read, and the reason. If a field is missing, the path is that of its
/// object.
pub(super) fn find(mut input: Metadata) -> Option<(String, String)> {
    let lists: [(&str, Read); 4] = [
        ("messages", read::<Message>),
        ("tools", read::<ToolDefinition>),
        ("context", read::<Context>),
        ("resume", read::<ResumeEntry>),
    ];
    for (name, read) in lists {
        let Some(Value::Array(items)) = input.get_mut(name) else {
            continue;
        };
        for (index, item) in items.drain(..).enumerate() {
            if let Some(reason) = read(item.clone()) {
                let mut path = format!("/{name}/{index}");
                descend(item, &reason, read, &mut path);
                return Some((path, reason));
            }
        }
    }
    let input = Value::Object(input);
    let reason = read::<RunAgentInput>(input.clone())?;
    let mut path = String::new();
    descend(input, &reason, read::<RunAgentInput>, &mut path);
    Some((path, reason))
}

/// The reason why a value cannot be read, if so.
type Read = fn(Value) -> Option<String>;

fn read<T: DeserializeOwned>(value: Value) -> Option<String> {
    let error = serde_json::from_value::<T>(value).err()?;
    Some(error.to_string())
}

/// Goes on to the part of `root` without which it fails otherwise, or not at all, and to the part of that.
fn descend(mut root: Value, reason: &str, read: Read, path: &mut String) {
    let missing = reason.strip_prefix("missing field `");
    let missing = missing.and_then(|rest| rest.split('`').next());
    let mut pointer = String::new();
    loop {
        let step = match root.pointer_mut(&pointer) {
            Some(Value::Object(members)) => {
                let names: Vec<_> = members.keys().cloned().collect();
                let fails_alike = |change: &dyn Fn(&mut Metadata)| {
                    let mut changed = root.clone();
                    if let Some(Value::Object(members)) = changed.pointer_mut(&pointer) {
                        change(members);
                    }
                    read(changed).as_deref() == Some(reason)
                };
                if let Some(missing) = missing.filter(|name| !names.iter().any(|own| own == name))
                    && !fails_alike(&|members| {
                        members.insert(missing.to_owned(), Value::Null);
                    })
                {
                    return;
                }
                let mut names = names.into_iter();
                let name = names.find(|name| {
                    let without = |members: &mut Metadata| drop(members.shift_remove(name));
                    !TAGS.contains(&name.as_str()) && !fails_alike(&without)
                });
                let Some(name) = name else { return };
                let step = name.replace('~', "~0").replace('/', "~1");
                path.push('/');
                path.push_str(&step);
                step
            }
            Some(Value::Array(items)) => {
                let items = std::mem::take(items);
                let alone = |item| {
                    let mut root = root.clone();
                    if let Some(place) = root.pointer_mut(&pointer) {
                        *place = Value::Array(vec![item]);
                    }
                    root
                };
                let mut alone = items.into_iter().map(alone).enumerate();
                let found = alone.find(|(_, root)| read(root.clone()).as_deref() == Some(reason));
                let Some((index, alone)) = found else { return };
                root = alone;
                path.push_str(&format!("/{index}"));
                "0".to_owned()
            }
            _ => return,
        };
        pointer.push('/');
        pointer.push_str(&step);
    }
}
