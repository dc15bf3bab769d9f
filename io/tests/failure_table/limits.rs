//! How far a turn may go.

use crate::*;
use stepwell_io::config::LimitPolicy;

/// A turn of a model that asks for a tool for ever, with another argument each time.
async fn for_ever(
    dialect: Dialect,
    change: impl FnOnce(&mut stepwell_io::config::RunConfig),
) -> (MockLlm, Finished) {
    let hops = (0..12).map(|number| {
        let id = format!("call-{number}");
        Hop::new()
            .tool_call_with_id(&id, "work", json!({ "number": number }))
            .usage(60, 40)
    });
    let server = serve(hops).await;
    let agent = dialect.agent(&server).tool(work(), done).configure(change);
    let agent = agent.chat();
    let (_, finished) = watch(agent.send("Go on")).await;
    assert_legal(&server);
    (server, finished)
}

fn limit(finished: &Finished) -> Option<&'static str> {
    finished
        .outcome
        .limit()
        .map(stepwell_io::turn::TurnLimit::name)
}

#[tokio::test]
async fn hop_limit_completes_or_fails_by_policy() {
    for dialect in BOTH {
        let (server, finished) =
            for_ever(dialect, |config| config.limits.max_tool_rounds = 2).await;
        assert_eq!(limit(&finished), Some("max_tool_rounds"));
        assert!(!matches!(finished.outcome, Outcome::Failed { .. }));
        assert_eq!(server.requests().len(), 3);
        let (server, finished) = for_ever(dialect, |config| {
            config.limits.max_tool_rounds = 2;
            config.limits.at_limit = LimitPolicy::Fail;
        })
        .await;
        assert!(matches!(
            failure(&finished.outcome),
            Failure::LimitReached { .. }
        ));
        assert_eq!(server.requests().len(), 3);
    }
}

#[tokio::test]
async fn hop_limit_with_one_last_hop_without_tools_sums_up() {
    for dialect in BOTH {
        let server = serve([asks(&["a"]), asks(&["b"]), says("In short: it works.")]).await;
        let agent = dialect.agent(&server).max_tool_rounds(1).tool(work(), done);
        let agent = agent
            .configure(|config| config.limits.at_limit = LimitPolicy::SumUp)
            .chat();
        let turn = agent.send("Go on");
        let (_, finished) = watch(turn).await;
        assert_eq!(finished.transcript.text(), "In short: it works.");
        let requests = server.requests();
        let offered = requests[2].body["tools"].as_array().map_or(0, Vec::len);
        assert_eq!((requests.len(), offered), (3, 0));
        assert_legal(&server);
    }
}

#[tokio::test]
async fn a_repeated_call_gets_a_warning_and_then_stops() {
    for dialect in BOTH {
        let hops = (0..8).map(|number| {
            Hop::new().tool_call_with_id(format!("call-{number}"), "work", json!({}))
        });
        let server = serve(hops).await;
        let runs = Arc::new(Semaphore::new(0));
        let counted = Arc::clone(&runs);
        let agent = dialect.agent(&server).tool(work(), move |_| {
            counted.add_permits(1);
            async { Ok::<_, String>("the same") }
        });
        let agent = agent.chat();
        let (_, finished) = watch(agent.send("Go on")).await;
        assert_eq!(limit(&finished), Some("no_progress"));
        assert_eq!(runs.available_permits(), 3);
        let requests = server.requests();
        assert_eq!(requests.len(), 6);
        assert!(results(&requests[4])[3].contains("same arguments"));
        assert_legal(&server);
    }
}

#[tokio::test]
async fn tool_call_budget_token_budget_or_wall_time_is_named() {
    for dialect in BOTH {
        let (server, finished) =
            for_ever(dialect, |config| config.limits.max_tool_calls = Some(3)).await;
        assert_eq!(
            (limit(&finished), server.requests().len()),
            (Some("max_tool_calls"), 4)
        );
        let (server, finished) = for_ever(dialect, |config| {
            config.limits.max_duration = Some(Duration::ZERO);
        })
        .await;
        assert_eq!(
            (limit(&finished), server.requests().len()),
            (Some("max_duration"), 1)
        );
    }
    // The mock's AG-UI does not report tokens.
    let (server, finished) =
        for_ever(Dialect::Chat, |config| config.limits.max_tokens = Some(150)).await;
    assert_eq!(
        (limit(&finished), server.requests().len()),
        (Some("max_tokens"), 2)
    );
}
