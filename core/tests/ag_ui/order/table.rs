//! An independent reading of the table.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use stepwell_core::event::{OpenItems, OpenStep, Phase, Rule};

pub(crate) type Tag = Option<String>;

/// The table, as plainly as it can be written: every field of an event read from its JSON, every set and owner map of
/// the specification by its name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Table {
    pub(crate) phase: Phase,
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
    pub(crate) fn check(&mut self, event: &Value) -> Result<(), Rule> {
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

    pub(crate) fn open_items(&self) -> OpenItems {
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
