//! The order check against a plain reading of the table, and row by row.

#![allow(clippy::unwrap_used)] // the lint knows test functions, not their helpers

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use stepwell_core::event::{End, Event, EventRef, OpenItems, OpenStep, Order, Phase, Rule};

type Tag = Option<String>;

/// The table, as plainly as it can be written: every field of an event read from its JSON, every set and owner map of
/// the specification by its name.
#[derive(Clone, Debug, Default, PartialEq)]
struct Table {
    phase: Phase,
    msgs: BTreeSet<String>,
    tools: BTreeSet<String>,
    spans: BTreeSet<String>,
    rmsgs: BTreeSet<String>,
    steps: BTreeSet<(Tag, String)>,
    subs: BTreeSet<String>,
    subs_closed: BTreeSet<String>,
    message: BTreeMap<String, Tag>,
    tool_call: BTreeMap<String, Tag>,
    reasoning: BTreeMap<String, Tag>,
    activity: BTreeMap<String, Tag>,
}

fn text(event: &Value, field: &str) -> String {
    event[field].as_str().unwrap().to_owned()
}

fn optional(event: &Value, field: &str) -> Tag {
    event[field].as_str().map(str::to_owned)
}

fn agrees(owners: &BTreeMap<String, Tag>, id: &str, tag: &Tag) -> bool {
    match (tag, owners.get(id)) {
        (Some(_), Some(owner)) => tag == owner,
        _ => true,
    }
}

impl Table {
    fn check(&mut self, event: &Value) -> Result<(), Rule> {
        let mut next = self.clone();
        next.step(event)?;
        *self = next;
        Ok(())
    }

    fn step(&mut self, event: &Value) -> Result<(), Rule> {
        let kind = text(event, "type");
        let tag = optional(event, "subagentRunId");
        let allow = |allowed: bool, rule: Rule| if allowed { Ok(()) } else { Err(rule) };
        if kind == "FUTURE_EVENT" {
            return Ok(());
        }
        allow(
            self.phase != Phase::Fresh || kind == "RUN_STARTED" || kind == "RUN_ERROR",
            Rule::O1,
        )?;
        match kind.as_str() {
            "RUN_STARTED" => {
                allow(self.phase != Phase::Active, Rule::O2)?;
                *self = Self {
                    phase: Phase::Active,
                    ..Self::default()
                };
                if let Some(messages) = event["input"]["messages"].as_array() {
                    self.seed(messages, false);
                }
                return Ok(());
            }
            "RUN_ERROR" => {
                allow(self.phase != Phase::Errored, Rule::O3)?;
                *self = Self {
                    phase: Phase::Errored,
                    ..Self::default()
                };
                return Ok(());
            }
            "RUN_FINISHED" => {
                allow(
                    self.phase == Phase::Active
                        && self.msgs.is_empty()
                        && self.tools.is_empty()
                        && self.spans.is_empty()
                        && self.rmsgs.is_empty()
                        && self.steps.is_empty()
                        && self.subs.is_empty(),
                    Rule::O4,
                )?;
                *self = Self {
                    phase: Phase::Finished,
                    ..Self::default()
                };
                return Ok(());
            }
            _ => allow(self.phase == Phase::Active, Rule::O5)?,
        }
        match kind.as_str() {
            "TEXT_MESSAGE_START" => {
                let id = text(event, "messageId");
                allow(!self.msgs.contains(&id), Rule::O6)?;
                allow(agrees(&self.message, &id, &tag), Rule::O6)?;
                self.message.entry(id.clone()).or_insert(tag);
                self.msgs.insert(id);
            }
            "TEXT_MESSAGE_CONTENT" | "TEXT_MESSAGE_END" => {
                let id = text(event, "messageId");
                allow(self.msgs.contains(&id), Rule::O7)?;
                allow(agrees(&self.message, &id, &tag), Rule::O7)?;
                if kind == "TEXT_MESSAGE_END" {
                    self.msgs.remove(&id);
                }
            }
            "TOOL_CALL_START" => {
                let id = text(event, "toolCallId");
                allow(!self.tools.contains(&id), Rule::O8)?;
                let parent = optional(event, "parentMessageId");
                let inherited = parent.and_then(|parent| self.message.get(&parent).cloned());
                if let (Some(_), Some(inherited)) = (&tag, &inherited) {
                    allow(tag == *inherited, Rule::O8)?;
                }
                // The tag that counts: the explicit one, else the parent message's owner, which may be the parent agent.
                let effective: Option<Tag> = if tag.is_some() { Some(tag) } else { inherited };
                if let (Some(effective), Some(owner)) = (&effective, self.tool_call.get(&id)) {
                    allow(effective == owner, Rule::O8)?;
                }
                self.tool_call
                    .entry(id.clone())
                    .or_insert(effective.flatten());
                self.tools.insert(id);
            }
            "TOOL_CALL_ARGS" | "TOOL_CALL_END" => {
                let id = text(event, "toolCallId");
                allow(self.tools.contains(&id), Rule::O9)?;
                allow(agrees(&self.tool_call, &id, &tag), Rule::O9)?;
                if kind == "TOOL_CALL_END" {
                    self.tools.remove(&id);
                }
            }
            "TOOL_CALL_RESULT" => {
                self.message.insert(text(event, "messageId"), tag);
            }
            "STEP_STARTED" => {
                allow(self.steps.insert((tag, text(event, "stepName"))), Rule::O11)?;
            }
            "STEP_FINISHED" => {
                allow(
                    self.steps.remove(&(tag, text(event, "stepName"))),
                    Rule::O12,
                )?;
            }
            "REASONING_START" => {
                let id = text(event, "messageId");
                allow(!self.spans.contains(&id), Rule::O13)?;
                allow(agrees(&self.reasoning, &id, &tag), Rule::O13)?;
                self.reasoning.entry(id.clone()).or_insert(tag);
                self.spans.insert(id);
            }
            "REASONING_END" => {
                let id = text(event, "messageId");
                allow(self.spans.contains(&id), Rule::O14)?;
                allow(agrees(&self.reasoning, &id, &tag), Rule::O14)?;
                self.spans.remove(&id);
            }
            "REASONING_MESSAGE_START" => {
                let id = text(event, "messageId");
                allow(!self.rmsgs.contains(&id), Rule::O15)?;
                allow(agrees(&self.reasoning, &id, &tag), Rule::O15)?;
                self.reasoning.entry(id.clone()).or_insert(tag);
                self.rmsgs.insert(id);
            }
            "REASONING_MESSAGE_CONTENT" | "REASONING_MESSAGE_END" => {
                let id = text(event, "messageId");
                allow(self.rmsgs.contains(&id), Rule::O16)?;
                allow(agrees(&self.reasoning, &id, &tag), Rule::O16)?;
                if kind == "REASONING_MESSAGE_END" {
                    self.rmsgs.remove(&id);
                }
            }
            "REASONING_ENCRYPTED_VALUE" => {
                let id = text(event, "entityId");
                let owners = if event["subtype"] == "tool-call" {
                    &self.tool_call
                } else if self.message.contains_key(&id) {
                    &self.message
                } else {
                    &self.reasoning
                };
                allow(agrees(owners, &id, &tag), Rule::O17)?;
            }
            "ACTIVITY_SNAPSHOT" => {
                let id = text(event, "messageId");
                if !self.activity.contains_key(&id) || event["replace"] != false {
                    self.activity.insert(id, tag);
                }
            }
            "ACTIVITY_DELTA" => {
                let id = text(event, "messageId");
                allow(agrees(&self.activity, &id, &tag), Rule::O19)?;
            }
            "SUBAGENT_STARTED" => {
                let id = text(event, "subagentRunId");
                let known = |id: &String| self.subs.contains(id) || self.subs_closed.contains(id);
                allow(!known(&id), Rule::O20)?;
                let parent = optional(event, "parentSubagentRunId");
                allow(parent.is_none_or(|parent| known(&parent)), Rule::O20)?;
                self.subs.insert(id);
            }
            "SUBAGENT_FINISHED" | "SUBAGENT_ERROR" => {
                let id = text(event, "subagentRunId");
                allow(self.subs.remove(&id), Rule::O21)?;
                self.subs_closed.insert(id);
            }
            "MESSAGES_SNAPSHOT" => self.seed(event["messages"].as_array().unwrap(), true),
            "STATE_SNAPSHOT" | "STATE_DELTA" | "CUSTOM" | "RAW" => {}
            other => panic!("the table has no {other}"),
        }
        Ok(())
    }

    fn seed(&mut self, messages: &[Value], overwrite: bool) {
        for message in messages {
            let tag = optional(message, "subagentRunId");
            let owners = match message["role"].as_str().unwrap() {
                "reasoning" => &mut self.reasoning,
                "activity" => &mut self.activity,
                _ => &mut self.message,
            };
            let id = text(message, "id");
            if overwrite || !owners.contains_key(&id) {
                owners.insert(id, tag.clone());
            }
            for call in message["toolCalls"].as_array().into_iter().flatten() {
                let id = text(call, "id");
                if overwrite || !self.tool_call.contains_key(&id) {
                    self.tool_call.insert(id, tag.clone());
                }
            }
        }
    }

    fn open_items(&self) -> OpenItems {
        fn ids<Id: for<'a> From<&'a str>>(ids: &BTreeSet<String>) -> Vec<Id> {
            ids.iter().map(|id| id.as_str().into()).collect()
        }
        OpenItems {
            messages: ids(&self.msgs),
            tool_calls: ids(&self.tools),
            reasoning_spans: ids(&self.spans),
            reasoning_messages: ids(&self.rmsgs),
            steps: self
                .steps
                .iter()
                .map(|(tag, name)| OpenStep {
                    subagent_run_id: tag.clone(),
                    name: name.clone(),
                })
                .collect(),
            subagents: self.subs.iter().cloned().collect(),
        }
    }
}

fn event(json: &Value) -> Event {
    serde_json::from_value(json.clone()).unwrap_or_else(|error| panic!("{json}: {error}"))
}

fn check(order: &mut Order, json: &Value) -> Result<(), Rule> {
    let event = event(json);
    order
        .check(EventRef::from(&event))
        .map_err(|violation| violation.rule)
}

/// Few ids and owners, the empty string among both, so that walks meet themselves.
fn any_event() -> impl Strategy<Value = Value> {
    let id = || prop::sample::select(vec!["a", "b", ""]);
    let tag = || prop::sample::select(vec![None, None, None, Some("s"), Some("")]);
    let with_id = prop::sample::select(vec![
        ("TEXT_MESSAGE_START", "messageId"),
        ("TEXT_MESSAGE_CONTENT", "messageId"),
        ("TEXT_MESSAGE_END", "messageId"),
        ("TOOL_CALL_ARGS", "toolCallId"),
        ("TOOL_CALL_END", "toolCallId"),
        ("STEP_STARTED", "stepName"),
        ("STEP_FINISHED", "stepName"),
        ("REASONING_START", "messageId"),
        ("REASONING_END", "messageId"),
        ("REASONING_MESSAGE_START", "messageId"),
        ("REASONING_MESSAGE_CONTENT", "messageId"),
        ("REASONING_MESSAGE_END", "messageId"),
        ("TOOL_CALL_RESULT", "messageId"),
        ("ACTIVITY_DELTA", "messageId"),
    ]);
    let item = (with_id, id(), tag()).prop_map(|((kind, field), id, tag)| {
        let mut event = json!({"type": kind, field: id, "delta": "d", "role": "reasoning"});
        match kind {
            "TOOL_CALL_RESULT" => {
                event = json!({"type": kind, field: id, "toolCallId": "a", "content": ""});
            }
            "ACTIVITY_DELTA" => {
                event = json!({"type": kind, field: id, "activityType": "t", "patch": []});
            }
            "TEXT_MESSAGE_START" => event = json!({"type": kind, field: id}),
            "REASONING_MESSAGE_START" => {}
            _ => {
                event.as_object_mut().unwrap().remove("role");
                if !kind.ends_with("CONTENT") && kind != "TOOL_CALL_ARGS" {
                    event.as_object_mut().unwrap().remove("delta");
                }
            }
        }
        tagged(event, tag)
    });
    let call = (id(), prop::option::of(id()), tag()).prop_map(|(id, parent, tag)| {
        let mut event = json!({"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": "n"});
        if let Some(parent) = parent {
            event["parentMessageId"] = parent.into();
        }
        tagged(event, tag)
    });
    let value = (prop::bool::ANY, id(), tag()).prop_map(|(call, id, tag)| {
        let subtype = if call { "tool-call" } else { "message" };
        tagged(
            json!({"type": "REASONING_ENCRYPTED_VALUE", "subtype": subtype, "entityId": id,
                "encryptedValue": "v"}),
            tag,
        )
    });
    let activity = (id(), prop::option::of(prop::bool::ANY), tag()).prop_map(|(id, replace, tag)| {
        let mut event = json!({"type": "ACTIVITY_SNAPSHOT", "messageId": id, "activityType": "t",
            "content": {}});
        if let Some(replace) = replace {
            event["replace"] = replace.into();
        }
        tagged(event, tag)
    });
    let subagent =
        (0..4, id(), prop::option::of(id())).prop_map(|(which, id, parent)| match which {
            0 | 1 => {
                let mut event =
                    json!({"type": "SUBAGENT_STARTED", "subagentRunId": id, "name": "n"});
                if let Some(parent) = parent {
                    event["parentSubagentRunId"] = parent.into();
                }
                event
            }
            2 => json!({"type": "SUBAGENT_FINISHED", "subagentRunId": id}),
            _ => json!({"type": "SUBAGENT_ERROR", "subagentRunId": id, "message": "m"}),
        });
    let message = move || {
        (
            prop::sample::select(vec!["user", "assistant", "reasoning", "activity", "tool"]),
            id(),
            tag(),
        )
            .prop_map(|(role, id, tag)| {
                let mut message = json!({"role": role, "id": id, "content": "c"});
                match role {
                    "assistant" => {
                        message["toolCalls"] = json!([{"id": id, "type": "function",
                            "function": {"name": "n", "arguments": ""}}]);
                    }
                    "activity" => {
                        message["content"] = json!({});
                        message["activityType"] = "t".into();
                    }
                    "tool" => message["toolCallId"] = "a".into(),
                    _ => {}
                }
                tagged(message, tag)
            })
    };
    let snapshot = prop::collection::vec(message(), 0..3)
        .prop_map(|messages| json!({"type": "MESSAGES_SNAPSHOT", "messages": messages}));
    let start = prop::option::of(prop::collection::vec(message(), 0..3)).prop_map(|history| {
        let mut event = json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"});
        if let Some(messages) = history {
            event["input"] = json!({"threadId": "t", "runId": "r", "messages": messages});
        }
        event
    });
    let plain = prop::sample::select(vec![
        json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}),
        json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}),
        json!({"type": "RUN_ERROR", "message": "m"}),
        json!({"type": "STATE_SNAPSHOT", "snapshot": null}),
        json!({"type": "STATE_DELTA", "delta": [], "subagentRunId": "s"}),
        json!({"type": "CUSTOM", "name": "n", "value": null}),
        json!({"type": "RAW", "event": null}),
        json!({"type": "FUTURE_EVENT", "messageId": "a"}),
    ]);
    prop_oneof![
        12 => item,
        3 => call,
        2 => value,
        2 => activity,
        3 => subagent,
        1 => snapshot,
        1 => start,
        2 => plain,
    ]
}

fn tagged(mut event: Value, tag: Option<&str>) -> Value {
    if let Some(tag) = tag {
        event["subagentRunId"] = tag.into();
    }
    event
}

/// A stream that the table allows: of random events, those that it takes.
fn valid_walk() -> impl Strategy<Value = Vec<Value>> {
    prop::collection::vec(any_event(), 0..80).prop_map(|events| {
        let mut table = Table::default();
        let start = json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"});
        let mut rare = 0;
        std::iter::once(start)
            .chain(events)
            .filter(|event| {
                // Ends of a run are let through rarely, so that runs get long.
                if event["type"] == "RUN_ERROR" || event["type"] == "RUN_FINISHED" {
                    rare += 1;
                    if rare % 3 != 0 {
                        return false;
                    }
                }
                table.check(event).is_ok()
            })
            .collect()
    })
}

fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "proptest-regressions/order.txt",
        ))),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_the_table_allows_passes(walk in valid_walk()) {
        let mut order = Order::default();
        let mut table = Table::default();
        for event in &walk {
            table.check(event).unwrap();
            prop_assert_eq!(check(&mut order, event), Ok(()), "{}", event);
            prop_assert_eq!(order.phase(), table.phase);
            prop_assert_eq!(order.open_items(), table.open_items());
        }
    }

    #[test]
    fn a_changed_step_breaks_the_rule_that_the_table_says(
        walk in valid_walk(),
        stray in any_event(),
        at in any::<prop::sample::Index>(),
        replace in any::<bool>(),
    ) {
        let at = at.index(walk.len());
        let mut walk = walk;
        walk.splice(at..at + usize::from(replace), [stray]);
        let mut order = Order::default();
        let mut table = Table::default();
        for event in &walk {
            let before = order.clone();
            let expected = table.check(event);
            prop_assert_eq!(check(&mut order, event), expected, "{}", event);
            if expected.is_err() {
                prop_assert_eq!(&order, &before, "a refused event leaves a trace");
            }
        }
    }

    #[test]
    fn any_events_are_judged_as_the_table_judges_them(
        events in prop::collection::vec(any_event(), 0..60),
    ) {
        let mut order = Order::default();
        let mut table = Table::default();
        for event in &events {
            prop_assert_eq!(check(&mut order, event), table.check(event), "{}", event);
            prop_assert_eq!(order.open_items(), table.open_items());
        }
    }

    /// I4: a snapshot in mid-stream changes nothing; and no order of a map is to be seen in it.
    #[test]
    fn i4_a_snapshot_is_the_same_order(walk in valid_walk(), rest in valid_walk()) {
        let (mut order, mut twin) = (Order::default(), Order::default());
        for event in &walk {
            let _ = check(&mut order, event);
            let _ = check(&mut twin, event);
        }
        let snapshot = serde_json::to_string(&order).unwrap();
        prop_assert_eq!(&snapshot, &serde_json::to_string(&twin).unwrap());
        let mut restored: Order = serde_json::from_str(&snapshot).unwrap();
        prop_assert_eq!(&restored, &order);
        for event in &rest {
            prop_assert_eq!(check(&mut restored, event), check(&mut order, event));
        }
        prop_assert_eq!(restored, order);
    }

    /// The short form of a delta and the whole event are judged the same.
    #[test]
    fn a_borrowed_delta_is_judged_as_the_whole_event(walk in valid_walk(), stray in any_event()) {
        let (mut borrowed, mut whole) = (Order::default(), Order::default());
        for json in walk.iter().chain([&stray]) {
            let event = event(json);
            prop_assert_eq!(
                borrowed.check(EventRef::from(&event)),
                whole.check(EventRef::Whole(&event))
            );
        }
        prop_assert_eq!(borrowed, whole);
    }
}

/// The rule that the last of these events breaks; the others pass.
fn broken(events: &[Value]) -> Option<Rule> {
    let mut order = Order::default();
    let (last, before) = events.split_last().unwrap();
    for event in before {
        check(&mut order, event).unwrap_or_else(|rule| panic!("{rule}: {event}"));
    }
    check(&mut order, last).err()
}

/// In a run: a shorthand of `type id tag` a line.
fn run(lines: &[&str]) -> Option<Rule> {
    let started = json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"});
    let events: Vec<_> = std::iter::once(started)
        .chain(lines.iter().map(|line| {
            let words: Vec<_> = line.split(' ').collect();
            let id = words.get(1).copied().unwrap_or_default();
            let event = match words[0] {
                "RUN_FINISHED" => json!({"threadId": "t", "runId": "r"}),
                "RUN_STARTED" => json!({"threadId": "other", "runId": "r2"}),
                "RUN_ERROR" => json!({"message": "m"}),
                "STEP_STARTED" | "STEP_FINISHED" => json!({"stepName": id}),
                "TOOL_CALL_START" => match id.split_once('@') {
                    Some((id, parent)) => {
                        json!({"toolCallId": id, "toolCallName": "n", "parentMessageId": parent})
                    }
                    None => json!({"toolCallId": id, "toolCallName": "n"}),
                },
                "TOOL_CALL_ARGS" => json!({"toolCallId": id, "delta": "{"}),
                "TOOL_CALL_END" => json!({"toolCallId": id}),
                "TOOL_CALL_RESULT" => json!({"messageId": id, "toolCallId": "x", "content": ""}),
                "REASONING_MESSAGE_START" => json!({"messageId": id, "role": "reasoning"}),
                "SUBAGENT_STARTED" => match id.split_once('@') {
                    Some((id, parent)) => {
                        json!({"subagentRunId": id, "name": "n", "parentSubagentRunId": parent})
                    }
                    None => json!({"subagentRunId": id, "name": "n"}),
                },
                "SUBAGENT_FINISHED" => json!({"subagentRunId": id}),
                "SUBAGENT_ERROR" => json!({"subagentRunId": id, "message": "m"}),
                "STATE_SNAPSHOT" => json!({"snapshot": null}),
                "CUSTOM" => json!({"name": "n", "value": null}),
                kind if kind.ends_with("_CONTENT") => json!({"messageId": id, "delta": "d"}),
                _ => json!({"messageId": id}),
            };
            let mut event = event;
            event["type"] = words[0].into();
            tagged(event, words.get(2).copied())
        }))
        .collect();
    broken(&events)
}

#[test]
fn every_row_of_the_table() {
    let none = None;
    for (lines, rule) in [
        // O2, O3, O4, O5
        (vec!["RUN_STARTED"], Some(Rule::O2)),
        (vec!["RUN_FINISHED", "RUN_STARTED"], none),
        (vec!["RUN_ERROR", "RUN_STARTED"], none),
        (vec!["RUN_ERROR", "RUN_ERROR"], Some(Rule::O3)),
        (vec!["RUN_FINISHED", "RUN_ERROR"], none),
        (vec!["RUN_ERROR", "RUN_FINISHED"], Some(Rule::O4)),
        (vec!["RUN_FINISHED", "RUN_FINISHED"], Some(Rule::O4)),
        (vec!["TEXT_MESSAGE_START m", "RUN_FINISHED"], Some(Rule::O4)),
        (vec!["TOOL_CALL_START c", "RUN_FINISHED"], Some(Rule::O4)),
        (vec!["REASONING_START r", "RUN_FINISHED"], Some(Rule::O4)),
        (
            vec!["REASONING_MESSAGE_START r", "RUN_FINISHED"],
            Some(Rule::O4),
        ),
        (vec!["STEP_STARTED s", "RUN_FINISHED"], Some(Rule::O4)),
        (vec!["SUBAGENT_STARTED s", "RUN_FINISHED"], Some(Rule::O4)),
        (
            vec![
                "TEXT_MESSAGE_START m",
                "RUN_ERROR",
                "RUN_STARTED",
                "RUN_FINISHED",
            ],
            none,
        ),
        (vec!["RUN_FINISHED", "CUSTOM"], Some(Rule::O5)),
        (vec!["RUN_ERROR", "STATE_SNAPSHOT"], Some(Rule::O5)),
        (vec!["RUN_ERROR", "TEXT_MESSAGE_CONTENT m"], Some(Rule::O5)),
        // O6, O7: one may be opened again; owners outlive the end
        (
            vec!["TEXT_MESSAGE_START m", "TEXT_MESSAGE_START m"],
            Some(Rule::O6),
        ),
        (
            vec![
                "TEXT_MESSAGE_START m",
                "TEXT_MESSAGE_END m",
                "TEXT_MESSAGE_START m",
            ],
            none,
        ),
        (
            vec![
                "TEXT_MESSAGE_START m",
                "TEXT_MESSAGE_END m",
                "TEXT_MESSAGE_START m s",
            ],
            Some(Rule::O6),
        ),
        (
            vec![
                "TEXT_MESSAGE_START m s",
                "TEXT_MESSAGE_END m",
                "TEXT_MESSAGE_START m",
            ],
            none,
        ),
        (vec!["TEXT_MESSAGE_CONTENT m"], Some(Rule::O7)),
        (
            vec!["TEXT_MESSAGE_START m", "TEXT_MESSAGE_CONTENT m s"],
            Some(Rule::O7),
        ),
        (
            vec!["TEXT_MESSAGE_START m s", "TEXT_MESSAGE_CONTENT m"],
            none,
        ),
        (
            vec!["TEXT_MESSAGE_START m s", "TEXT_MESSAGE_CONTENT m s2"],
            Some(Rule::O7),
        ),
        (
            vec!["TEXT_MESSAGE_START m s", "TEXT_MESSAGE_END m s2"],
            Some(Rule::O7),
        ),
        // The empty string is a subagent too, and not the parent agent.
        (
            vec!["TEXT_MESSAGE_START m", "TEXT_MESSAGE_END m "],
            Some(Rule::O7),
        ),
        // A new run forgets.
        (
            vec![
                "TEXT_MESSAGE_START m s",
                "RUN_ERROR",
                "RUN_STARTED",
                "TEXT_MESSAGE_START m s2",
            ],
            none,
        ),
        // O8, O9
        (
            vec!["TOOL_CALL_START c", "TOOL_CALL_START c"],
            Some(Rule::O8),
        ),
        (
            vec!["TOOL_CALL_START c", "TOOL_CALL_END c", "TOOL_CALL_START c"],
            none,
        ),
        (
            vec!["TEXT_MESSAGE_START m s", "TOOL_CALL_START c@m s2"],
            Some(Rule::O8),
        ),
        (
            vec!["TEXT_MESSAGE_START m", "TOOL_CALL_START c@m s"],
            Some(Rule::O8),
        ),
        (vec!["TOOL_CALL_START c@unknown s"], none),
        (
            vec![
                "TEXT_MESSAGE_START m s",
                "TOOL_CALL_START c@m",
                "TOOL_CALL_ARGS c s",
            ],
            none,
        ),
        (
            vec![
                "TEXT_MESSAGE_START m s",
                "TOOL_CALL_START c@m",
                "TOOL_CALL_ARGS c s2",
            ],
            Some(Rule::O9),
        ),
        (
            vec![
                "TOOL_CALL_START c s",
                "TOOL_CALL_END c",
                "TEXT_MESSAGE_START m",
                "TOOL_CALL_START c@m",
            ],
            Some(Rule::O8),
        ),
        (vec!["TOOL_CALL_ARGS c"], Some(Rule::O9)),
        (
            vec!["TOOL_CALL_START c", "TOOL_CALL_END c", "TOOL_CALL_END c"],
            Some(Rule::O9),
        ),
        // One id may name a message and a call at once.
        (
            vec![
                "TEXT_MESSAGE_START x",
                "TOOL_CALL_START x",
                "TEXT_MESSAGE_END x",
                "TOOL_CALL_ARGS x",
            ],
            none,
        ),
        // O10
        (vec!["TOOL_CALL_RESULT t", "TOOL_CALL_RESULT t"], none),
        (
            vec!["TOOL_CALL_RESULT t s", "TEXT_MESSAGE_START t s2"],
            Some(Rule::O6),
        ),
        // O11, O12: a step is its agent's
        (vec!["STEP_STARTED a", "STEP_STARTED a"], Some(Rule::O11)),
        (vec!["STEP_STARTED a", "STEP_STARTED a s"], none),
        (vec!["STEP_FINISHED a"], Some(Rule::O12)),
        (vec!["STEP_STARTED a", "STEP_FINISHED a s"], Some(Rule::O12)),
        // O13 to O16: a span and a message share an owner, not their being open
        (
            vec!["REASONING_START r", "REASONING_START r"],
            Some(Rule::O13),
        ),
        (vec!["REASONING_START r", "REASONING_MESSAGE_START r"], none),
        (
            vec!["REASONING_START r s", "REASONING_MESSAGE_START r s2"],
            Some(Rule::O15),
        ),
        (vec!["REASONING_END r"], Some(Rule::O14)),
        (
            vec!["REASONING_START r", "REASONING_END r s"],
            Some(Rule::O14),
        ),
        (
            vec!["REASONING_MESSAGE_START r s", "REASONING_START r s2"],
            Some(Rule::O13),
        ),
        (
            vec!["REASONING_MESSAGE_START r", "REASONING_MESSAGE_START r"],
            Some(Rule::O15),
        ),
        (
            vec!["REASONING_START r", "REASONING_MESSAGE_CONTENT r"],
            Some(Rule::O16),
        ),
        (
            vec!["REASONING_MESSAGE_START r", "REASONING_MESSAGE_END r s"],
            Some(Rule::O16),
        ),
        // O20, O21
        (
            vec!["SUBAGENT_STARTED s", "SUBAGENT_STARTED s"],
            Some(Rule::O20),
        ),
        (
            vec![
                "SUBAGENT_STARTED s",
                "SUBAGENT_FINISHED s",
                "SUBAGENT_STARTED s",
            ],
            Some(Rule::O20),
        ),
        (vec!["SUBAGENT_STARTED s@p"], Some(Rule::O20)),
        (
            vec![
                "SUBAGENT_STARTED p",
                "SUBAGENT_ERROR p",
                "SUBAGENT_STARTED s@p",
            ],
            none,
        ),
        (vec!["SUBAGENT_FINISHED s"], Some(Rule::O21)),
        (
            vec![
                "SUBAGENT_STARTED s",
                "SUBAGENT_ERROR s",
                "SUBAGENT_FINISHED s",
            ],
            Some(Rule::O21),
        ),
        (
            vec![
                "SUBAGENT_STARTED s",
                "TEXT_MESSAGE_START m s",
                "SUBAGENT_FINISHED s",
            ],
            none,
        ),
        // A subagent need not be announced.
        (vec!["TEXT_MESSAGE_START m never-announced"], none),
    ] {
        assert_eq!(run(&lines), rule, "{lines:?}");
    }
}

#[test]
fn the_first_event_starts_a_run_or_says_why_not() {
    assert_eq!(
        broken(&[json!({"type": "CUSTOM", "name": "n", "value": 1})]),
        Some(Rule::O1)
    );
    let delta = json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": ""});
    assert_eq!(broken(&[delta]), Some(Rule::O1));
    let finished = json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"});
    assert_eq!(broken(&[finished]), Some(Rule::O1));
    assert_eq!(
        broken(&[json!({"type": "RUN_ERROR", "message": "m"})]),
        None
    );
    assert_eq!(broken(&[json!({"type": "FUTURE_EVENT"})]), None);
}

#[test]
fn history_says_whose_a_message_is() {
    let message = json!({"role": "assistant", "id": "m", "subagentRunId": "s", "toolCalls": [
        {"id": "c", "type": "function", "function": {"name": "n", "arguments": ""}}]});
    let parents = json!({"role": "user", "id": "m", "content": ""});
    let started = json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r",
        "input": {"threadId": "t", "runId": "r", "messages": [message, parents]}});
    let snapshot = json!({"type": "MESSAGES_SNAPSHOT", "messages": [message, parents]});
    let start =
        |tag: &str| json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "subagentRunId": tag});
    let value = |tag: &str| {
        json!({"type": "REASONING_ENCRYPTED_VALUE", "subtype": "tool-call", "entityId": "c",
            "encryptedValue": "v", "subagentRunId": tag})
    };
    // The request's history only claims what nobody has: the first one keeps the id.
    assert_eq!(broken(&[started.clone(), start("s")]), None);
    assert_eq!(broken(&[started.clone(), start("s2")]), Some(Rule::O6));
    assert_eq!(broken(&[started.clone(), value("s2")]), Some(Rule::O17));
    // A snapshot overrules: the last one has it.
    assert_eq!(
        broken(&[started.clone(), snapshot.clone(), start("s")]),
        Some(Rule::O6)
    );
    assert_eq!(broken(&[started, snapshot, value("s")]), None);
}

#[test]
fn activities_belong_to_the_snapshot_that_placed_them() {
    let started = json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"});
    let snapshot = |tag: &str, replace: bool| {
        json!({"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "t", "content": {},
            "subagentRunId": tag, "replace": replace})
    };
    let delta = |tag: &str| {
        json!({"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "t", "patch": [],
            "subagentRunId": tag})
    };
    let judged = |events: &[Value]| broken(&[std::slice::from_ref(&started), events].concat());
    assert_eq!(judged(&[delta("anyone")]), None);
    assert_eq!(judged(&[snapshot("s", true), delta("s2")]), Some(Rule::O19));
    assert_eq!(
        judged(&[snapshot("s", true), snapshot("s2", false), delta("s2")]),
        Some(Rule::O19)
    );
    assert_eq!(
        judged(&[snapshot("s", true), snapshot("s2", true), delta("s2")]),
        None
    );
}

#[test]
fn the_end_tells_finished_errored_and_truncated_apart() {
    let mut order = Order::default();
    assert_eq!(order.end(), End::Truncated(OpenItems::default()));
    assert_eq!(order.end().violation().unwrap().rule, Rule::O24);
    for event in [
        json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"}),
        json!({"type": "TEXT_MESSAGE_START", "messageId": "m2"}),
        json!({"type": "TEXT_MESSAGE_START", "messageId": "m1"}),
        json!({"type": "STEP_STARTED", "stepName": "plan", "subagentRunId": "s"}),
    ] {
        check(&mut order, &event).unwrap();
    }
    let open = order.open_items();
    assert_eq!(
        open.to_string(),
        "text messages 'm1', 'm2'; step 'plan of subagent s'"
    );
    assert_eq!(order.end(), End::Truncated(open));
    check(&mut order, &json!({"type": "RUN_ERROR", "message": "m"})).unwrap();
    assert_eq!(order.end(), End::Errored);
    assert!(order.open_items().is_empty());
    check(
        &mut order,
        &json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"}),
    )
    .unwrap();
    check(
        &mut order,
        &json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}),
    )
    .unwrap();
    assert_eq!(order.end(), End::Finished);
    assert_eq!(order.end().violation(), None);
}

#[test]
fn a_violation_says_what_to_do_and_stays_short() {
    let mut order = Order::default();
    check(
        &mut order,
        &json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"}),
    )
    .unwrap();
    let violation = order
        .check(EventRef::ToolCallArgs {
            tool_call_id: "call-7",
            delta: "",
        })
        .unwrap_err();
    assert_eq!(
        violation.to_string(),
        "O9: TOOL_CALL_ARGS: no tool call 'call-7' is open; send TOOL_CALL_START first"
    );
    assert_eq!(serde_json::to_value(&violation).unwrap()["rule"], "O9");
    for call in 0..10_000 {
        let start = json!({"type": "TOOL_CALL_START", "toolCallId": call.to_string(),
            "toolCallName": "n"});
        check(&mut order, &start).unwrap();
    }
    let finished = event(&json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}));
    let violation = order.check((&finished).into()).unwrap_err();
    assert!(violation.message.len() < 300, "{violation}");
    assert!(violation.message.contains("and 9995 more"), "{violation}");
}
