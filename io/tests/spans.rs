//! The spans of a turn. Alone in its process, since tracing decides once a process which spans are wanted.

mod support;

use crate::support::IntoChat as _;
use std::io::Write;
use std::sync::{Arc, Mutex};
use stepwell_io::tool::Tool;
use stepwell_io::turn::Outcome;
use stepwell_mock_llm::Script;
use tracing_subscriber::fmt::format::FmtSpan;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0
            .lock()
            .expect("no panic holds it")
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_turn_its_hops_and_its_tools_have_spans_that_tell_no_secret() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .with_max_level(tracing::Level::INFO)
        .with_span_events(FmtSpan::CLOSE)
        .with_writer(move || writer.clone())
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);
    let server = support::start(Script::secret_numbers()).await;
    let agent = support::agent(&server)
        .tool(
            Tool::new("get_secret_number", "The secret number of a person."),
            |_| async { Ok::<_, String>("42") },
        )
        .chat();
    let finished = agent.send("What are the secret numbers?").finish().await;
    assert_eq!(finished.outcome, Outcome::Success);
    drop(guard);

    let log =
        String::from_utf8(log.0.lock().expect("no panic holds it").clone()).expect("logs are text");
    for wanted in [
        r#""gen_ai.operation.name":"invoke_agent""#,
        r#""gen_ai.operation.name":"chat""#,
        r#""gen_ai.operation.name":"execute_tool""#,
        r#""gen_ai.request.model":"mock-model""#,
        r#""gen_ai.tool.name":"get_secret_number""#,
        r#""gen_ai.conversation.id":"thread-1""#,
        r#""gen_ai.usage.input_tokens":"#,
        r#""gen_ai.response.id":"#,
        r#""gen_ai.response.time_to_first_chunk":"#,
        r#""server.address":"127.0.0.1""#,
        r#""gen_ai.response.finish_reasons":"[\"tool_calls\"]""#,
        r#""gen_ai.response.finish_reasons":"[\"stop\"]""#,
        r#""stepwell.outcome":"success""#,
    ] {
        assert!(log.contains(wanted), "{wanted} is not in {log}");
    }
    // The hops' own tokens add up to the turn's.
    let tokens = |name: &str| -> Vec<u64> {
        let spans = log.lines().filter_map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).ok()?;
            let span = &line["span"];
            (span["name"] == name).then(|| span["gen_ai.usage.output_tokens"].as_u64())
        });
        spans.flatten().collect()
    };
    let (hops, turn) = (tokens("chat"), tokens("invoke_agent"));
    assert_eq!((hops.len(), turn.len()), (2, 1), "{log}");
    assert_eq!(hops.iter().sum::<u64>(), turn[0], "{log}");
    for secret in ["test-key", "secret numbers", "Alice"] {
        assert!(!log.contains(secret), "{secret} is in {log}");
    }
}
