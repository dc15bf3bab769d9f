use fend_core::{Context, Interrupt};
use serde_json::json;
use std::time::{Duration, Instant};
use stepwell_io::tool::{Tool, ToolContext};

/// The maximum length of an expression. The parser recurses, so this limits its depth.
const MAX_EXPRESSION_BYTES: usize = 256;

/// The stack for that depth: 256 open brackets need more than the usual 2 MiB in a debug build.
const STACK_BYTES: usize = 64 << 20;

/// The time that an expression may take. `9^9^9^9` would never end.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The maximum length of a result, which goes into the model's context.
const MAX_RESULT_BYTES: usize = 2_000;

pub(crate) fn tool() -> Tool {
    Tool::new(
        "calculator",
        "Evaluates an arithmetic expression exactly, such as (17.5 - 3) * 2^10 / 7 or sqrt(2). Knows units too: \
         5 miles to km.",
    )
    .parameters(json!({
        "type": "object",
        "properties": {
            "expression": { "type": "string", "minLength": 1, "maxLength": MAX_EXPRESSION_BYTES },
        },
        "required": ["expression"],
        "additionalProperties": false,
    }))
    .idempotent()
}

pub(crate) async fn run(call: ToolContext) -> Result<String, String> {
    let expression = call.arguments.value["expression"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    // The evaluation may compute for a while: on a thread of its own.
    tokio::task::spawn_blocking(move || evaluate(&expression, TIMEOUT))
        .await
        .map_err(|error| error.to_string())?
}

struct Deadline(Instant);

impl Interrupt for Deadline {
    fn should_interrupt(&self) -> bool {
        Instant::now() >= self.0
    }
}

fn evaluate(expression: &str, patience: Duration) -> Result<String, String> {
    if expression.len() > MAX_EXPRESSION_BYTES {
        return Err(format!(
            "the expression is longer than {MAX_EXPRESSION_BYTES} bytes"
        ));
    }
    let deadline = Deadline(Instant::now() + patience);
    let compute = || fend_core::evaluate_with_interrupt(expression, &mut Context::new(), &deadline);
    let result = std::thread::scope(|scope| {
        std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, compute)
            .map(|computing| computing.join())
    });
    let result = result
        .map_err(|error| error.to_string())?
        .map_err(|_| "the expression cannot be computed".to_owned())?
        .map_err(|reason| match deadline.should_interrupt() {
            true => "the expression takes too long to compute".to_owned(),
            false => reason,
        })?;
    let text = result.get_main_result();
    match text.len() {
        0 => Err("the expression has no value".to_owned()),
        length if length > MAX_RESULT_BYTES => Err(format!(
            "the result has {length} characters: ask for an approximate one, such as `{expression} to 10 sf`"
        )),
        _ => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(expression: &str) -> Result<String, String> {
        evaluate(expression, TIMEOUT)
    }

    #[test]
    fn arithmetic_is_exact() {
        assert_eq!(value("2 + 3 * 4").as_deref(), Ok("14"));
        assert_eq!(value("0.1 + 0.2").as_deref(), Ok("0.3"));
        assert_eq!(value("2^64").as_deref(), Ok("18446744073709551616"));
        assert_eq!(value("(1 + 2) * -3 / 4").as_deref(), Ok("-2.25"));
    }

    #[test]
    fn invalid_expression_is_refused() {
        for expression in ["", "1 / 0", "2 +", "import os", "€€€", "(((("] {
            assert!(value(expression).is_err(), "{expression}");
        }
        let deep = "(".repeat(MAX_EXPRESSION_BYTES);
        assert!(value(&deep).is_err());
        let signs = "-".repeat(MAX_EXPRESSION_BYTES - 1) + "1";
        let _ = value(&signs);
        assert!(value(&"1".repeat(MAX_EXPRESSION_BYTES + 1)).is_err());
    }

    #[test]
    fn slow_expression_is_given_up() {
        assert_eq!(
            evaluate("9^9^9^9", Duration::ZERO),
            Err("the expression takes too long to compute".to_owned())
        );
    }
}
