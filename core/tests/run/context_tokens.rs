//! How long a conversation is, token by token, and where exactly the bars are.

use crate::context::guarded;
use crate::world::{ToolReply, World, config, offer};
use serde_json::{Value, json};
use std::sync::Arc;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::run::{
    ContextMessage, ContextOverflow, ContextPolicy, Effect, Failure, Input, Outcome, RunConfig,
    RunEvent, RunMachine, Start,
};
use stepwell_core::tool::Tool;
use stepwell_core::transcript::Transcript;
use stepwell_testing::reply::{Part, call, text};

fn messages(messages: Value) -> Vec<Message> {
    serde_json::from_value(messages).expect("messages of AG-UI")
}

/// A run that is sent five tokens, the message's own included, after this history.
fn after(history: Vec<Message>, change: impl FnOnce(&mut RunConfig)) -> World {
    let mut world = crate::world::with(Dialect::OpenAiChat, change).streams([text("Yes.")]);
    let history = Transcript::new(history);
    world.machine = RunMachine::new(Arc::clone(&world.config), "thread".into(), history);
    world.send("And?");
    world
}

/// What the host is asked to trim.
fn overflow(world: &World) -> Option<ContextOverflow> {
    world.seen.effects().find_map(|(_, effect)| match effect {
        Effect::TrimContext { overflow } => Some(overflow.clone()),
        _ => None,
    })
}

#[track_caller]
fn too_long(world: &World) -> u64 {
    match world.outcome() {
        Outcome::Failed {
            failure: Failure::ContextTooLong { tokens, .. },
        } => *tokens,
        other => panic!("it fits: {other:?}"),
    }
}

#[test]
fn each_kind_of_message_has_its_estimate() {
    let data = |characters: usize, media: &str| json!({"type": "data", "value": "A".repeat(characters), "mimeType": media});
    let part = |kind: &str, source: Value| json!([{"type": kind, "source": source}]);
    let url = json!({"type": "url", "value": "https://example.com/a"});
    let contents = [
        (json!(""), 4),
        (json!("1234"), 5),
        (json!("12345"), 6),
        (
            json!([{"type": "text", "text": "12345"}, {"type": "text", "text": "1"}]),
            7,
        ),
        (part("image", data(4_000, "image/png")), 1_604),
        (part("audio", data(4_000, "audio/wav")), 10),
        (part("audio", data(4_004, "audio/wav")), 11),
        (part("video", data(4_000, "video/mp4")), 9),
        (part("document", data(4_000, "application/pdf")), 104),
        (part("document", data(4_000, "text/plain")), 754),
        (part("document", url), 3_004),
    ];
    let user = |at: usize, content: &Value| json!({"id": format!("old-{at}"), "role": "user", "content": content});
    let mut history: Vec<_> = contents
        .iter()
        .enumerate()
        .map(|(at, (content, _))| user(at, content))
        .collect();
    let mut expected: Vec<_> = contents.iter().map(|(_, tokens)| *tokens).collect();
    let call = json!({"id": "c", "type": "function", "function": {"name": "work", "arguments": "{\"a\":1}"}});
    for (message, tokens) in [
        (
            json!({"id": "d", "role": "developer", "content": "123456789"}),
            Some(7),
        ),
        (
            json!({"id": "s", "role": "system", "content": "12345678"}),
            Some(6),
        ),
        (
            json!({"id": "r", "role": "reasoning", "content": "123456789012"}),
            Some(7),
        ),
        (
            json!({"id": "a", "role": "assistant", "content": "1234567890", "toolCalls": [call]}),
            Some(14),
        ),
        (
            json!({"id": "t", "role": "tool", "toolCallId": "c", "content": "1234567890123456"}),
            Some(8),
        ),
        (json!({"id": "b", "role": "assistant"}), Some(4)),
        // It is shown, and never sent.
        (
            json!({"id": "v", "role": "activity", "activityType": "PLAN", "content": {"a": "b"}}),
            None,
        ),
    ] {
        history.push(message);
        expected.extend(tokens);
    }
    expected.push(5);
    let world = after(messages(history.into()), |config| {
        let tool = Tool::new("work", "Works.").parameters(json!({"type": "object"}));
        offer(config, tool);
        config.instructions = Some("Be kind.".to_owned());
        config.context_guard.window = Some(1);
        config.context_guard.at_limit = ContextPolicy::Trim;
    });
    let overflow = overflow(&world).expect("the host is asked");
    let estimates: Vec<_> = overflow
        .messages
        .iter()
        .map(|message| message.tokens)
        .collect();
    assert_eq!(estimates, expected);
    // The tool is 4 and 1 and 2 and 5, the instructions are 2.
    assert_eq!(overflow.tokens, expected.iter().sum::<u64>() + 12 + 2);
    assert_eq!(overflow.window, 1);
}

/// 100 tokens with the five of the message.
fn a_hundred() -> Vec<Message> {
    vec![Message::user("old", "x".repeat(91 * 4))]
}

#[test]
fn what_fills_the_window_to_the_last_token_fits() {
    for (window, fits) in [(101, true), (100, true), (99, false)] {
        for at_limit in [ContextPolicy::Fail, ContextPolicy::Trim] {
            let world = after(a_hundred(), |config| {
                config.context_guard.window = Some(window);
                config.context_guard.at_limit = at_limit;
            });
            assert_eq!(world.seen.requests().len(), usize::from(fits), "{window}");
            let asked = !fits && at_limit == ContextPolicy::Trim;
            assert_eq!(overflow(&world).is_some(), asked, "{window}");
        }
    }
}

#[test]
fn a_window_from_the_table_lets_half_as_much_again_pass() {
    for (tokens, fits) in [(12_288, true), (12_289, false)] {
        let history = vec![Message::user("old", "x".repeat((tokens - 9) * 4))];
        let world = after(history, |config| {
            config.endpoint.provider = "openai".to_owned();
            config.endpoint.model = "gpt-4".to_owned();
        });
        assert_eq!(world.seen.requests().len(), usize::from(fits), "{tokens}");
    }
}

#[test]
fn the_warning_comes_as_soon_as_the_part_is_filled() {
    for (window, warns) in [(125, true), (126, false)] {
        let world = after(a_hundred(), |config| {
            config.context_guard.window = Some(window);
            config.context_guard.warn_at = Some(0.8);
        });
        let told = world.seen.events().find_map(|event| match event {
            RunEvent::ContextNearlyFull { tokens, window } => Some((*tokens, *window)),
            _ => None,
        });
        assert_eq!(told, warns.then_some((100, window)));
    }
}

#[test]
fn an_answer_that_takes_the_whole_window_is_the_providers_business() {
    for (answer, fits) in [
        (0, true),
        (100, true),
        (101, false),
        (199, false),
        (200, true),
        (900, true),
    ] {
        let world = after(a_hundred(), |config| {
            config.context_guard.window = Some(200);
            config.settings.max_output_tokens = Some(answer);
        });
        assert_eq!(world.seen.requests().len(), usize::from(fits), "{answer}");
    }
}

#[test]
fn what_the_model_said_is_counted_once() {
    // The provider counted the answer; 4,000 bytes of a result come on top.
    let world = guarded(2_000, ContextPolicy::Fail, |_| {})
        .streams([
            text(&"y".repeat(4_000)),
            call("c", "work", "{}"),
            Part::Usage {
                input: 1_500,
                output: 100,
            },
        ])
        .turn();
    assert_eq!(too_long(&world), 1_500 + 100 + 1_000 + 4);
}

#[test]
fn each_provider_counts_what_is_cached_and_thought_in_its_own_way() {
    let usage = json!({"choices": [], "usage": {
        "prompt_tokens": 1_000,
        "completion_tokens": 100,
        "total_tokens": 1_100,
        "prompt_tokens_details": {"cached_tokens": 300},
        "completion_tokens_details": {"reasoning_tokens": 40},
    }});
    let before = crate::world::chat()
        .streams([text("Yes."), Part::Raw(format!("data: {usage}\n\n"))])
        .turn();
    let history = before.machine.transcript();
    for (dialect, tokens) in [
        (Dialect::OpenAiChat, 1_000 + 60),
        (Dialect::Anthropic, 1_000 + 300 + 60),
        (Dialect::Gemini, 1_000 + 100),
    ] {
        let mut config = config(Dialect::OpenAiChat);
        config.endpoint.dialect = dialect;
        config.context_guard.window = Some(1);
        let mut machine = RunMachine::new(Arc::new(config), "thread".into(), history.clone());
        let start = Start::new("run-2", Message::user("user-2", "And?"));
        let input = Input::Start(Box::new(start));
        machine
            .handle(input, Default::default())
            .expect("it is idle");
        let Some(Outcome::Failed {
            failure: Failure::ContextTooLong {
                tokens: counted, ..
            },
        }) = machine.outcome()
        else {
            panic!("{:?}", machine.outcome());
        };
        assert_eq!(*counted, tokens + 5, "{dialect:?}");
    }
}

/// By as much as the estimate of the whole was wrong, that of the rest is thought to be wrong.
#[test]
fn what_is_left_is_measured_by_what_the_provider_counted() {
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        let tool = Tool::new("work", "Works.").parameters(json!({"type": "object"}));
        offer(config, tool);
        config.context_guard.window = Some(2_000);
        config.context_guard.at_limit = ContextPolicy::Trim;
    })
    .tool("work", |_| ToolReply::text(&"x".repeat(400)))
    .streams([
        call("c", "work", "{}"),
        Part::Usage {
            input: 2_000,
            output: 0,
        },
    ])
    .streams([text("Done.")]);
    let history = vec![Message::user("old", "x".repeat(4_000))];
    world.machine = RunMachine::new(
        Arc::clone(&world.config),
        "thread".into(),
        Transcript::new(history),
    );
    world.trims.push_back(|_| (Vec::new(), None));
    world.send("And?");
    world.drive();
    let trimmed = world.seen.events().find_map(|event| match event {
        RunEvent::ContextTrimmed {
            left_out, tokens, ..
        } => Some((left_out.clone(), *tokens)),
        _ => None,
    });
    let overflow = overflow(&world).expect("the host is asked");
    assert_eq!(overflow.tokens, 2_000 + 104);
    let whole: u64 = overflow.messages.iter().map(|message| message.tokens).sum();
    let tool = 4 + 1 + 2 + 5;
    let rest = whole - 1_004 + tool;
    let expected = 2_104 * rest / (whole + tool);
    assert_eq!(trimmed, Some((vec!["old".into()], expected)));
}

#[test]
fn the_newest_messages_fill_no_more_than_their_part() {
    let overflow = |tokens, each: u64| ContextOverflow {
        tokens,
        window: 800,
        messages: (0..4)
            .map(|at| ContextMessage {
                id: format!("m{at}").into(),
                tokens: each,
            })
            .collect(),
    };
    // Each takes 200 of the 800: twice its estimate.
    let ids = |part| overflow(800, 100).newest(part);
    assert!(ids(0.0).is_empty() && ids(-1.0).is_empty());
    assert_eq!(ids(0.3), ["m3"]);
    assert_eq!(ids(0.5), ["m2", "m3"]);
    assert_eq!(ids(0.99), ["m1", "m2", "m3"]);
    assert_eq!(ids(1.0).len(), 4);
    assert_eq!(
        overflow(1_600, 100).newest(7.0).len(),
        2,
        "no more than all"
    );
    assert_eq!(overflow(1_600, 0).newest(0.5).len(), 4, "they take no room");
}
