#[cfg(feature = "model-check")]
mod canonical;

use crate::event::TokenUsage;
use crate::hash::fnv1a;
use crate::run::protocol::{Limits, RepeatLimit, TurnLimit};
use crate::tool::{ToolResult, parse_arguments};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// The limits' counters of a turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Budget {
    /// Rounds of tools that are done.
    rounds: u32,
    /// The limit that was reached: the turn's last hop, which offers no tools, sums up.
    reached: Option<TurnLimit>,
    usage: TokenUsage,
    spent: Spent,
}

/// The decision on a call, by the number of times that it was made.
#[derive(Debug, PartialEq)]
pub(crate) enum Repeated {
    /// The call runs.
    Run,
    /// The call does not run: the model is told that it repeats itself.
    Tell(u32),
    /// The model has asked for the call too often: the turn stops.
    Stop(u32),
}

impl Budget {
    pub(crate) fn reached(&self) -> &Option<TurnLimit> {
        &self.reached
    }

    pub(crate) fn usage(&self) -> &TokenUsage {
        &self.usage
    }

    /// A round of tools is done.
    pub(crate) fn end_round(&mut self) {
        self.rounds = self.rounds.saturating_add(1);
    }

    /// The next hop is the last one, and sums up.
    pub(crate) fn sum_up(&mut self, limit: TurnLimit) {
        self.reached = Some(limit);
    }

    /// Time that the turn has taken, apart from the user's.
    pub(crate) fn add_time(&mut self, time: Duration) {
        self.spent.add_time(time);
    }

    /// Counts what a stream has cost.
    pub(crate) fn count_usage(&mut self, usage: &[TokenUsage]) {
        for usage in usage {
            let total = &mut self.usage;
            for (sum, count) in [
                (&mut total.input_tokens, usage.input_tokens),
                (&mut total.output_tokens, usage.output_tokens),
                (&mut total.total_tokens, usage.total_tokens),
                (&mut total.reasoning_tokens, usage.reasoning_tokens),
                (&mut total.cached_input_tokens, usage.cached_input_tokens),
                (
                    &mut total.cache_write_input_tokens,
                    usage.cache_write_input_tokens,
                ),
            ] {
                if let Some(count) = count {
                    *sum = Some(sum.unwrap_or(0).saturating_add(count));
                }
            }
            if let Some(cost) = usage.cost {
                total.cost = Some(total.cost.unwrap_or_default().saturating_add(cost));
            }
        }
    }

    /// Returns the limit that the next round of tools, with this number of calls, would exceed. `running` is the
    /// running time that was not added yet.
    pub(crate) fn next_limit(
        &self,
        limits: &Limits,
        calls: usize,
        running: Duration,
    ) -> Option<TurnLimit> {
        let calls = u32::try_from(calls).unwrap_or(u32::MAX);
        if let Some(limit) = &self.reached {
            return Some(limit.clone());
        }
        if self.rounds >= limits.max_tool_rounds {
            let max = limits.max_tool_rounds;
            return Some(TurnLimit::MaxToolRounds { max });
        }
        if let Some(max) = limits.max_tool_calls
            && self.spent.calls.saturating_add(calls) > max
        {
            return Some(TurnLimit::MaxToolCalls { max });
        }
        if let Some(max) = limits.max_tokens
            && self.tokens() >= max
        {
            return Some(TurnLimit::MaxTokens { max });
        }
        if let Some(max) = limits.max_cost
            && self.usage.cost.is_some_and(|cost| cost >= max)
        {
            return Some(TurnLimit::MaxCost { max });
        }
        if let Some(max) = limits.max_duration
            && self.spent.time.saturating_add(running) >= max
        {
            let max_ms = u64::try_from(max.as_millis()).unwrap_or(u64::MAX);
            return Some(TurnLimit::MaxDuration { max_ms });
        }
        None
    }

    fn tokens(&self) -> u64 {
        let usage = &self.usage;
        usage.total_tokens.unwrap_or_else(|| {
            let input = usage.input_tokens.unwrap_or(0);
            input.saturating_add(usage.output_tokens.unwrap_or(0))
        })
    }

    /// Counts a call that is about to begin, by its [digest](call_digest). Without a limit it may be made at any time.
    pub(crate) fn count_call(&mut self, digest: u64, limit: Option<RepeatLimit>) -> Repeated {
        let times = self.spent.count(digest);
        match limit {
            Some(limit) if times > limit.stop_after => Repeated::Stop(times),
            Some(limit) if times > limit.tell_after => Repeated::Tell(times),
            _ => Repeated::Run,
        }
    }

    /// Notes the result of a call that ran.
    pub(crate) fn note_result(&mut self, digest: u64, result: &ToolResult) {
        let result = serde_json::to_vec(result).unwrap_or_default();
        self.spent.came_to(digest, fnv1a(&result));
    }
}

/// Stands for the tool and its arguments, however the model spaced and ordered them.
pub(crate) fn call_digest(name: &str, arguments: &str) -> u64 {
    let mut text = name.to_owned();
    text.push('\0');
    match parse_arguments(arguments) {
        Ok(arguments) => write_sorted(&arguments, &mut text),
        Err(_) => text.push_str(arguments),
    }
    fnv1a(text.as_bytes())
}

/// The amounts that a turn has used of its limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Spent {
    /// The calls that were begun.
    calls: u32,
    /// The calls by their tool and arguments.
    repeats: Vec<Repeat>,
    /// The one of the last call that was counted.
    last: Option<u64>,
    /// The time up to the last pause.
    time: Duration,
}

/// The calls of one tool with the same arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Repeat {
    call: u64,
    times: u32,
    /// The digest of the last result.
    result: Option<u64>,
    /// Whether the result was new.
    is_news: bool,
}

impl Spent {
    /// Counts a call. How often it was made without progress, this time included.
    fn count(&mut self, call: u64) -> u32 {
        self.calls = self.calls.saturating_add(1);
        let again = self.last.replace(call) == Some(call);
        let Some(repeat) = self.repeats.iter_mut().find(|repeat| repeat.call == call) else {
            self.repeats.push(Repeat {
                call,
                times: 1,
                result: None,
                is_news: false,
            });
            return 1;
        };
        repeat.times = if again || !repeat.is_news {
            repeat.times.saturating_add(1)
        } else {
            1
        };
        repeat.times
    }

    fn came_to(&mut self, call: u64, result: u64) {
        if let Some(repeat) = self.repeats.iter_mut().find(|repeat| repeat.call == call) {
            let before = repeat.result.replace(result);
            repeat.is_news = before.is_some_and(|before| before != result);
        }
    }

    /// Time that the turn has taken, apart from the user's.
    fn add_time(&mut self, time: Duration) {
        self.time = self.time.saturating_add(time);
    }
}

/// The value as JSON with the keys of its objects in order.
fn write_sorted(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let entries: BTreeMap<&str, &Value> = map
                .iter()
                .map(|(key, value)| (key.as_str(), value))
                .collect();
            out.push('{');
            for (key, value) in entries {
                out.push_str(&Value::from(key).to_string());
                out.push(':');
                write_sorted(value, out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(values) => {
            out.push('[');
            for value in values {
                write_sorted(value, out);
                out.push(',');
            }
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Usd;

    #[test]
    fn the_same_call_again_is_told_then_stopped_unless_it_brings_something_new() {
        let limit = Some(RepeatLimit {
            tell_after: 1,
            stop_after: 2,
        });
        let call = call_digest("look", r#"{"a": 1, "b": 2}"#);
        assert_eq!(call, call_digest("look", r#"{"b":2,"a":1}"#));
        assert_ne!(call, call_digest("look", r#"{"a":1,"b":3}"#));
        let mut budget = Budget::default();
        assert_eq!(budget.count_call(call, limit), Repeated::Run);
        assert_eq!(budget.count_call(call, limit), Repeated::Tell(2));
        assert_eq!(budget.count_call(call, limit), Repeated::Stop(3));
        assert_eq!(budget.count_call(call, None), Repeated::Run);
        // Another call came between, and the result is new: the count starts again.
        budget.note_result(call, &Ok("1".into()));
        budget.note_result(call, &Ok("2".into()));
        budget.count_call(call_digest("else", "{}"), limit);
        assert_eq!(budget.count_call(call, limit), Repeated::Run);
    }

    #[test]
    fn a_limit_is_the_next_rounds() {
        let limits = Limits {
            max_tool_rounds: 2,
            max_duration: Some(Duration::from_secs(10)),
            max_tokens: Some(100),
            ..Limits::default()
        };
        let mut budget = Budget::default();
        let next = |budget: &Budget, running| {
            let limit = budget.next_limit(&limits, 1, Duration::from_secs(running));
            limit.map(|limit| limit.name())
        };
        assert_eq!(next(&budget, 4), None);
        budget.add_time(Duration::from_secs(7));
        assert_eq!(next(&budget, 4), Some("max_duration"));
        budget.count_usage(&[TokenUsage {
            input_tokens: Some(60),
            output_tokens: Some(40),
            ..TokenUsage::default()
        }]);
        assert_eq!(next(&budget, 0), Some("max_tokens"));
        let priced = Limits {
            max_tokens: None,
            max_cost: Some(Usd::from_nanos(20)),
            ..limits
        };
        for (cost, reached) in [(19, None), (1, Some("max_cost"))] {
            budget.count_usage(&[TokenUsage {
                cost: Some(Usd::from_nanos(cost)),
                ..TokenUsage::default()
            }]);
            let limit = budget.next_limit(&priced, 1, Duration::ZERO);
            assert_eq!(limit.map(|limit| limit.name()), reached);
        }
        budget.end_round();
        budget.end_round();
        assert_eq!(next(&budget, 0), Some("max_tool_rounds"));
        budget.sum_up(TurnLimit::MaxToolCalls { max: 1 });
        assert_eq!(next(&budget, 0), Some("max_tool_calls"));
    }
}
