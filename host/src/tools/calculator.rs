use fend_core::{Context, Interrupt};
use serde_json::json;
use std::time::{Duration, Instant};
use stepwell_io::{Tool, ToolContext};

/// The longest expression, in bytes. The parser recurses, so this bounds its depth.
const LONGEST: usize = 256;

/// Room for that depth: 256 open brackets take more than the usual 2 MiB in a debug build.
const STACK: usize = 64 << 20;

/// The longest that an expression may take. `9^9^9^9` would take longer than the user lives.
const PATIENCE: Duration = Duration::from_secs(2);

/// The longest result, in bytes: enough to read, and not the whole of the model's context.
const LONGEST_RESULT: usize = 2_000;

pub(crate) fn tool() -> Tool {
    Tool::new(
        "calculator",
        "Evaluates an arithmetic expression exactly, such as (17.5 - 3) * 2^10 / 7 or sqrt(2). Knows units too: \
         5 miles to km.",
    )
    .parameters(json!({
        "type": "object",
        "properties": {
            "expression": { "type": "string", "minLength": 1, "maxLength": LONGEST },
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
    // It may compute for a while: not on a thread that others need.
    tokio::task::spawn_blocking(move || evaluate(&expression, PATIENCE))
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
    if expression.len() > LONGEST {
        return Err(format!("the expression is longer than {LONGEST} bytes"));
    }
    let deadline = Deadline(Instant::now() + patience);
    let compute = || fend_core::evaluate_with_interrupt(expression, &mut Context::new(), &deadline);
    let result = std::thread::scope(|scope| {
        std::thread::Builder::new()
            .stack_size(STACK)
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
        length if length > LONGEST_RESULT => Err(format!(
            "the result has {length} characters: ask for an approximate one, such as `{expression} to 10 sf`"
        )),
        _ => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(expression: &str) -> Result<String, String> {
        evaluate(expression, PATIENCE)
    }

    #[test]
    fn arithmetic_is_exact() {
        assert_eq!(value("2 + 3 * 4").as_deref(), Ok("14"));
        assert_eq!(value("0.1 + 0.2").as_deref(), Ok("0.3"));
        assert_eq!(value("2^64").as_deref(), Ok("18446744073709551616"));
        assert_eq!(value("(1 + 2) * -3 / 4").as_deref(), Ok("-2.25"));
    }

    #[test]
    fn what_cannot_be_computed_is_said_to_be_so() {
        for expression in ["", "1 / 0", "2 +", "import os", "€€€", "(((("] {
            assert!(value(expression).is_err(), "{expression}");
        }
        let deep = "(".repeat(LONGEST);
        assert!(value(&deep).is_err());
        let signs = "-".repeat(LONGEST - 1) + "1";
        let _ = value(&signs);
        assert!(value(&"1".repeat(LONGEST + 1)).is_err());
    }

    #[test]
    fn what_takes_too_long_is_given_up() {
        assert_eq!(
            evaluate("9^9^9^9", Duration::ZERO),
            Err("the expression takes too long to compute".to_owned())
        );
    }
}
