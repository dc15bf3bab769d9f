use super::{Rule, Violation};
use foldhash::fast::RandomState;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;

/// The agent that an item belongs to: a subagent's run, or `None` for the parent agent.
pub(super) type Owner = Option<String>;

// The peer chooses the ids, so the hash keeps its random seed. Nothing may depend on the order of these maps: they
// serialise sorted.
pub(super) type Map<K, V> = HashMap<K, V, RandomState>;
pub(super) type Set<T> = HashSet<T, RandomState>;

/// A message or tool call of the run. It stays after its end, since its owner still counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Item {
    pub(super) open: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) owner: Owner,
}

/// Checks that an event with `tag` may refer to an item of `owner`. An absent tag always may.
pub(super) fn agrees(tag: Option<&str>, owner: Option<&str>) -> bool {
    tag.is_none() || tag == owner
}

/// Returns the description of an agent for a message.
pub(super) struct Agent<'a>(pub(super) Option<&'a str>);

impl fmt::Display for Agent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(id) => write!(f, "subagent '{id}'"),
            None => f.write_str("the parent agent"),
        }
    }
}

pub(super) fn sorted_map<V: Serialize, S: Serializer>(
    map: &Map<String, V>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let ids: BTreeSet<&str> = map.keys().map(String::as_str).collect();
    serializer.collect_map(ids.into_iter().map(|id| (id, map.get(id))))
}

pub(super) fn sorted_set<T: Ord + Serialize, S: Serializer>(
    set: &Set<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(set.iter().collect::<BTreeSet<_>>())
}

/// A kind of item, for messages: its name, and the event that opens one.
#[derive(Clone, Copy)]
pub(super) struct What {
    pub(super) name: &'static str,
    pub(super) start: &'static str,
    pub(super) end: &'static str,
}

pub(super) const TEXT_MESSAGE: What = What {
    name: "text message",
    start: "TEXT_MESSAGE_START",
    end: "TEXT_MESSAGE_END",
};
pub(super) const TOOL_CALL: What = What {
    name: "tool call",
    start: "TOOL_CALL_START",
    end: "TOOL_CALL_END",
};
pub(super) const REASONING_SPAN: What = What {
    name: "reasoning span",
    start: "REASONING_START",
    end: "REASONING_END",
};
pub(super) const REASONING_MESSAGE: What = What {
    name: "reasoning message",
    start: "REASONING_MESSAGE_START",
    end: "REASONING_MESSAGE_END",
};

pub(super) fn is_open(items: &Map<String, Item>, id: &str) -> bool {
    items.get(id).is_some_and(|item| item.open)
}

/// Opens an item; one that was closed may open again.
pub(super) fn start(
    items: &mut Map<String, Item>,
    rule: Rule,
    kind: &str,
    what: What,
    id: &str,
    tag: Option<&str>,
) -> Result<(), Violation> {
    match items.get_mut(id) {
        Some(item) if item.open => return Err(already_open(rule, kind, what, id)),
        Some(item) => {
            owned_by(rule, kind, what.name, id, tag, &item.owner)?;
            item.open = true;
        }
        None => {
            let owner = tag.map(str::to_owned);
            items.insert(id.to_owned(), Item { open: true, owner });
        }
    }
    Ok(())
}

pub(super) fn go_on<'a>(
    items: &'a mut Map<String, Item>,
    rule: Rule,
    kind: &str,
    what: What,
    id: &str,
    tag: Option<&str>,
) -> Result<&'a mut Item, Violation> {
    match items.get_mut(id) {
        Some(item) if item.open => {
            owned_by(rule, kind, what.name, id, tag, &item.owner)?;
            Ok(item)
        }
        _ => Err(not_open(rule, kind, what, id)),
    }
}

pub(super) fn end(
    items: &mut Map<String, Item>,
    rule: Rule,
    kind: &str,
    what: What,
    id: &str,
    tag: Option<&str>,
) -> Result<(), Violation> {
    go_on(items, rule, kind, what, id, tag)?.open = false;
    Ok(())
}

/// Sets the owner of an item, and leaves its open state unchanged.
pub(super) fn own(items: &mut Map<String, Item>, id: &str, tag: Option<&str>) {
    let owner = tag.map(str::to_owned);
    match items.get_mut(id) {
        Some(item) => item.owner = owner,
        None => {
            items.insert(id.to_owned(), Item { open: false, owner });
        }
    }
}

pub(super) fn owned_by(
    rule: Rule,
    kind: &str,
    what: &str,
    id: &str,
    tag: Option<&str>,
    owner: &Owner,
) -> Result<(), Violation> {
    if agrees(tag, owner.as_deref()) {
        return Ok(());
    }
    Err(Violation::new(
        rule,
        format!(
            "{kind}: {what} '{id}' belongs to {}, the event says {}; send the owner's subagentRunId or none",
            Agent(owner.as_deref()),
            Agent(tag),
        ),
    ))
}

#[cold]
pub(super) fn not_open(rule: Rule, kind: &str, what: What, id: &str) -> Violation {
    Violation::new(
        rule,
        format!(
            "{kind}: no {} '{id}' is open; send {} first",
            what.name, what.start
        ),
    )
}

#[cold]
pub(super) fn already_open(rule: Rule, kind: &str, what: What, id: &str) -> Violation {
    Violation::new(
        rule,
        format!(
            "{kind}: {} '{id}' is open already; send {} first",
            what.name, what.end
        ),
    )
}
