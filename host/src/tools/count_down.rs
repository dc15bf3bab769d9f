//! A tool that takes its time, for the scripted model behind a server.

use serde_json::json;
use std::time::Duration;
use stepwell_io::tool::{Tool, ToolContext};

/// The maximum count, in seconds.
const MAX_COUNT: u64 = 60;

pub(crate) fn tool() -> Tool {
    Tool::new("count_down", "Counts down to zero, one number a second.")
        .parameters(json!({
            "type": "object",
            "properties": {
                "from": { "type": "integer", "minimum": 1, "maximum": MAX_COUNT },
            },
            "required": ["from"],
            "additionalProperties": false,
        }))
        .label(|arguments| Some(format!("Count down from {}", arguments["from"].as_u64()?)))
        .idempotent()
}

pub(crate) async fn run(call: ToolContext) -> Result<String, String> {
    let from = call.arguments.value["from"].as_u64();
    let from = from.filter(|from| *from <= MAX_COUNT);
    let from = from.ok_or_else(|| format!("`from` is a number up to {MAX_COUNT}"))?;
    for number in (1..=from).rev() {
        let done = (from - number) as f64 / from as f64;
        call.report(done, format!("{number} to go"));
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let numbers: Vec<_> = (0..=from).rev().map(|number| number.to_string()).collect();
    Ok(numbers.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use stepwell_io::tool::ToolInvocation;
    use tokio::time::Instant;

    async fn count(from: Value) -> Result<String, String> {
        let value = json!({ "from": from });
        run(ToolInvocation::new("count_down", value).into()).await
    }

    #[tokio::test(start_paused = true)]
    async fn takes_a_second_for_each_number() {
        let start = Instant::now();
        assert_eq!(count(json!(3)).await.as_deref(), Ok("3, 2, 1, 0"));
        assert_eq!(start.elapsed().as_secs(), 3);
        assert!(count(json!(MAX_COUNT + 1)).await.is_err());
    }
}
