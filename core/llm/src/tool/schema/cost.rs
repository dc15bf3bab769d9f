//! The cost of the check of one value, which is computed before the check.

use super::plan::{Node, Plan};
use foldhash::{HashMap, HashMapExt};
use serde_json::Value;
use std::ptr;

/// The most steps of one check. A step is the look of one schema at one value: some 50 nanoseconds on a laptop.
pub(super) const MAX_STEPS: u64 = 1_000_000;

/// The maximum number of steps that a check may have to repeat for each outcome of a pattern that was abandoned.
const MAX_HARD_STEPS: u64 = MAX_STEPS / 4;

/// The most schemas within each other, counting the values within each other too: a check is recursive, and a phone's
/// threads have half a megabyte of stack.
const MAX_DEPTH: usize = 600;

/// The check would exceed a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooCostly;

/// The cost of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cost {
    /// If each schema looks at each value but once, as the validator does that only says yes or no.
    pub(super) least: u64,
    /// If nothing is remembered, as where all faults are collected.
    pub(super) most: u64,
}

/// Counts the steps of a check of `value`, and spends at most `allowed` for that.
pub(super) fn cost(plan: &Plan, value: &Value, allowed: u64) -> Result<Cost, TooCostly> {
    let is_hard = plan.patterns.all.iter().any(|pattern| pattern.is_hard);
    let limit = if is_hard { MAX_HARD_STEPS } else { MAX_STEPS };
    let mut counter = Counter {
        plan,
        known: HashMap::new(),
        spent: 0,
        limit: limit.min(allowed),
    };
    let most = counter.count(0, Instance::Value(value), 0)?;
    if plan.has_unevaluated && most > counter.limit {
        return Err(TooCostly);
    }
    Ok(Cost {
        least: counter.spent,
        most,
    })
}

#[derive(Clone, Copy)]
enum Instance<'v> {
    Value(&'v Value),
    /// The name of a member.
    Name(&'v str),
}

struct Counter<'p> {
    plan: &'p Plan,
    /// The steps by schema and container: a validator remembers no others.
    known: HashMap<(usize, *const Value), u64>,
    spent: u64,
    limit: u64,
}

impl Counter<'_> {
    fn count(&mut self, id: usize, instance: Instance<'_>, depth: usize) -> Result<u64, TooCostly> {
        let key = match instance {
            Instance::Value(value @ (Value::Array(_) | Value::Object(_))) => {
                Some((id, ptr::from_ref(value)))
            }
            _ => None,
        };
        if let Some(&steps) = key.as_ref().and_then(|key| self.known.get(key)) {
            return Ok(steps);
        }
        if depth > MAX_DEPTH {
            return Err(TooCostly);
        }
        let plan = self.plan;
        let node = &plan.nodes[id];
        let own = self.own(node, instance);
        self.spent = self.spent.saturating_add(own);
        if self.spent > self.limit {
            return Err(TooCostly);
        }
        let mut steps = own;
        for &next in &node.in_place {
            let more = self.count(next, instance, depth + 1)?;
            steps = steps.saturating_add(more.saturating_mul(node.repeats));
        }
        let inner = match instance {
            Instance::Value(Value::Object(members)) => {
                let mut steps = 0_u64;
                for (name, value) in members {
                    let more = self.member(node, name, value, depth + 1)?;
                    steps = steps.saturating_add(more);
                }
                steps
            }
            Instance::Value(Value::Array(elements)) => self.elements(node, elements, depth + 1)?,
            _ => 0,
        };
        steps = steps.saturating_add(inner);
        if let Some(key) = key {
            self.known.insert(key, steps);
        }
        Ok(steps)
    }

    fn own(&self, node: &Node, instance: Instance<'_>) -> u64 {
        let text = match instance {
            Instance::Value(Value::String(text)) => text.as_str(),
            Instance::Name(name) => name,
            Instance::Value(value) => {
                let size = if node.is_unique {
                    weight(value, self.limit)
                } else {
                    0
                };
                return node.own + size;
            }
        };
        let pattern = node.pattern.map(|index| self.plan.pattern(index));
        node.own + pattern.map_or(0, |pattern| pattern.cost(text.len()))
    }

    fn member(
        &mut self,
        node: &Node,
        name: &str,
        value: &Value,
        depth: usize,
    ) -> Result<u64, TooCostly> {
        let named = node
            .properties
            .binary_search_by(|(other, _)| (**other).cmp(name));
        let mut steps = 1_u64;
        for &(pattern, _) in &node.by_pattern {
            steps = steps.saturating_add(self.plan.pattern(pattern).cost(name.len()));
        }
        self.spent = self.spent.saturating_add(steps);
        let others: &[usize] = match named {
            Ok(_) => &[],
            Err(_) => &node.other_members,
        };
        let named = named.ok().map(|at| node.properties[at].1);
        let by_pattern = node.by_pattern.iter().map(|(_, schema)| schema);
        for &schema in named.iter().chain(by_pattern).chain(others) {
            let more = self.count(schema, Instance::Value(value), depth)?;
            steps = steps.saturating_add(more);
        }
        if let Some(names) = node.names {
            let more = self.count(names, Instance::Name(name), depth)?;
            steps = steps.saturating_add(more);
        }
        Ok(steps)
    }

    fn elements(
        &mut self,
        node: &Node,
        elements: &[Value],
        depth: usize,
    ) -> Result<u64, TooCostly> {
        let mut steps = 0_u64;
        for (at, value) in elements.iter().enumerate() {
            let (first, rest): (_, &[usize]) = match node.prefix.get(at) {
                Some(first) => (Some(first), &[]),
                None => (None, &node.items),
            };
            for &schema in first.into_iter().chain(rest).chain(&node.contains) {
                let more = self.count(schema, Instance::Value(value), depth)?;
                steps = steps.saturating_add(more);
            }
        }
        Ok(steps)
    }
}

/// Returns the amount to compare in a value, counted no further than `limit`.
fn weight(value: &Value, limit: u64) -> u64 {
    let mut weight = 0_u64;
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        weight += 2;
        match value {
            Value::String(text) => weight += text.len() as u64 / 64,
            Value::Array(elements) => waiting.extend(elements),
            Value::Object(members) => {
                weight += members.len() as u64;
                waiting.extend(members.values());
            }
            _ => {}
        }
        if weight > limit {
            break;
        }
    }
    weight
}
