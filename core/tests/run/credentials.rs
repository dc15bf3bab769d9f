//! The host gives the key of each request: it is asked before each, once more after a 401, and never too often; and what
//! it gave is in nothing that is stored or printed.

use crate::journal::{parsed, written};
use crate::turn::secret_numbers;
use crate::world::{Reply, World, offer};
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::dialect::Dialect;
use stepwell_core::run::{
    Authorization, Credentials, Deadline, Effect, EffectId, ErrorKind, Failure, Input, Outcome,
    Refusal, RunMachine, StateKind, TimerKey,
};
use stepwell_core::tool::Tool;
use stepwell_core::{Timestamp, provider};
use stepwell_testing::reply::{call, text};

fn asking() -> World {
    crate::world::with(Dialect::OpenAiChat, |config| {
        config.credentials = Credentials::Host;
    })
}

fn refuses(status: u16) -> Reply {
    Reply::Refused(Refusal {
        status,
        ..Refusal::default()
    })
}

fn keys(mut world: World, keys: &[&'static str]) -> World {
    world.credentials.extend(keys.iter().copied().map(Ok));
    world
}

/// The keys that the requests were sent with.
fn sent(world: &World) -> Vec<String> {
    let requests = world.seen.effects().filter_map(|(_, effect)| match effect {
        Effect::OpenStream { request } => Some(&request.headers),
        _ => None,
    });
    let key = |headers: &Vec<(String, String)>| {
        let key = headers.iter().find(|(name, _)| name == "authorization");
        key.map_or_else(String::new, |(_, value)| value.clone())
    };
    requests.map(key).collect()
}

fn failed(world: &World) -> &Failure {
    match world.outcome() {
        Outcome::Failed { failure } => failure,
        other => panic!("it has not failed: {other:?}"),
    }
}

#[test]
fn the_host_is_asked_before_each_request() {
    let world = crate::world::with(Dialect::OpenAiChat, |config| {
        config.credentials = Credentials::Host;
        offer(config, Tool::new("work", "Works."));
    });
    let world = keys(world, &["one", "two"])
        .tool("work", |_| crate::world::ToolReply::text("done"))
        .streams([call("call-1", "work", "{}")])
        .streams([text("Yes.")])
        .turn();
    assert_eq!(sent(&world), ["Bearer one", "Bearer two"]);
    assert_eq!(
        world.seen.effect_names(),
        [
            "authorize authorize:0:0",
            "open open:0:0",
            "run tool:0:0",
            "authorize authorize:1:0",
            "open open:1:0",
        ]
    );
}

#[test]
fn after_a_401_it_is_asked_once_more() {
    let world = keys(asking(), &["old", "new"])
        .reply(refuses(401))
        .streams([text("Yes.")])
        .turn();
    assert_eq!(sent(&world), ["Bearer old", "Bearer new"]);
    assert_eq!(
        world.seen.effect_names(),
        [
            "authorize authorize:0:0",
            "open open:0:0",
            "authorize anew authorize:0:1",
            "open open:0:1",
        ]
    );
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn a_second_401_fails_the_turn() {
    let world = keys(asking(), &["old", "old too", "never"])
        .reply(refuses(401))
        .reply(refuses(401))
        .turn();
    assert_eq!(sent(&world).len(), 2);
    assert!(matches!(failed(&world), Failure::Api { error } if error.status == 401));
}

#[test]
fn with_a_key_of_the_endpoint_a_401_fails_as_it_did() {
    let world = crate::world::chat().reply(refuses(401)).turn();
    assert_eq!(world.seen.effect_names(), ["open open:0:0"]);
    assert!(matches!(failed(&world), Failure::Api { .. }));
}

#[test]
fn a_401_is_no_try_and_a_try_is_no_401() {
    let mut world = keys(asking(), &["a", "b", "c", "d", "e"]);
    for status in [503, 401, 503, 503] {
        world = world.reply(refuses(status));
    }
    let world = world.streams([text("Yes.")]).turn();
    assert_eq!(*world.outcome(), Outcome::Success, "four tries count");
    let rejected: Vec<_> = world
        .seen
        .effects()
        .filter_map(|(_, effect)| match effect {
            Effect::Authorize { rejected } => Some(*rejected),
            _ => None,
        })
        .collect();
    assert_eq!(rejected, [false, false, true, false, false]);
}

#[test]
fn without_credentials_the_turn_fails_with_the_hosts_words() {
    let mut world = asking();
    world.credentials.push_back(Err("nobody has signed in"));
    let world = world.turn();
    let message = "nobody has signed in".to_owned();
    assert_eq!(*failed(&world), Failure::NotAuthorized { message });
    let problem = world.outcome().problem().expect("it failed");
    assert_eq!(problem.kind, ErrorKind::Authentication);
    assert_eq!(world.seen.effect_names(), ["authorize authorize:0:0"]);
}

#[test]
fn a_host_that_does_not_answer_is_waited_for_so_long_and_no_longer() {
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        config.credentials = Credentials::Host;
        config.timeouts.credentials = Some(Duration::from_secs(5));
    });
    world.send("Go on");
    let begun = world.now;
    assert_eq!(world.machine.timeout_reason(), Some(TimerKey::Credentials));
    world.drive();
    assert_eq!(world.now, begun + 5_000);
    assert!(matches!(failed(&world), Failure::NotAuthorized { .. }));
    assert_eq!(
        world.seen.effect_names(),
        ["authorize authorize:0:0", "cancel authorize:0:0"]
    );
}

#[test]
fn what_no_header_can_carry_is_said_before_the_request() {
    let mut world = asking();
    world.send("Go on");
    let effect = EffectId::Authorize { hop: 0, attempt: 0 };
    let authorization = Authorization {
        key: None,
        headers: vec![("x team".to_owned(), "a".to_owned())],
    };
    let given = Input::Authorized {
        effect,
        authorization,
    };
    world.input(given).expect("it was asked for");
    let Failure::NotAuthorized { message } = failed(&world) else {
        panic!("{:?}", world.outcome());
    };
    assert!(message.contains("x team"), "{message}");
}

#[test]
fn cancelled_while_it_asks_the_host_stops_and_nothing_goes_out() {
    let mut world = asking();
    world.send("Go on");
    world.cancel();
    assert_eq!(*world.outcome(), Outcome::Cancelled);
    assert_eq!(
        world.seen.effect_names(),
        ["authorize authorize:0:0", "cancel authorize:0:0"]
    );
    let effect = EffectId::Authorize { hop: 0, attempt: 0 };
    let late = Input::Authorized {
        effect,
        authorization: "late".into(),
    };
    world.input(late).expect("late answers are no mistake");
    assert_eq!(world.seen.dropped(), [effect]);
}

#[test]
fn without_a_network_it_is_asked_when_there_is_one() {
    let mut world = asking().streams([text("Yes.")]);
    world.send("Go on");
    world.input(Input::NetworkLost).expect("any time");
    let effect = EffectId::Authorize { hop: 0, attempt: 0 };
    let message = "no route to the token server".to_owned();
    let answer = Input::NotAuthorized { effect, message };
    world.input(answer).expect("it was asked for");
    assert_eq!(world.machine.state(), StateKind::Waiting);
    world.credentials.push_back(Ok("now"));
    world.input(Input::NetworkAvailable).expect("any time");
    world.drive();
    assert_eq!(sent(&world), ["Bearer now"]);
}

/// I1: no timer without a reason.
#[test]
fn a_401_without_a_network_waits_for_it_and_is_not_called_silence() {
    let mut world = keys(asking(), &["old", "new"]).reply(Reply::Silent);
    world.send("Go on");
    world.drive_until(|world| sent(world).len() == 1);
    world.input(Input::NetworkLost).expect("any time");
    let effect = EffectId::Open { hop: 0, attempt: 0 };
    let refusal = Refusal {
        status: 401,
        ..Refusal::default()
    };
    world
        .input(Input::Refused { effect, refusal })
        .expect("it was sent");
    world.wait(40_000);
    world.input(Input::Timeout).expect("any time");
    assert_eq!(world.machine.state(), StateKind::Opening);
    let mut world = world.streams([text("Yes.")]);
    world.input(Input::NetworkAvailable).expect("any time");
    world.drive();
    assert_eq!(sent(&world), ["Bearer old", "Bearer new"]);
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn a_run_that_comes_back_asks_its_new_host() {
    let mut world = keys(asking(), &["old"]).reply(Reply::Silent);
    world.send("Go on");
    world.drive_until(|world| world.seen.requests().len() == 1);
    let snapshot = world.machine.snapshot();
    assert!(!snapshot.contains("old"));
    let config = Arc::clone(&world.config);
    let machine = RunMachine::revive(&snapshot, config, Timestamp(world.now));
    world.credentials.push_back(Ok("new"));
    world.replies.push_back(Reply::Complete(vec![text("Yes.")]));
    world.take_over(machine.expect("it was just written"));
    world.drive();
    assert_eq!(sent(&world), ["Bearer old", "Bearer new"]);
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn a_run_that_asked_its_host_goes_on_with_one_that_has_a_key() {
    let mut world = asking();
    world.send("Go on");
    let snapshot = world.machine.snapshot();
    let config = Arc::new(crate::world::config(Dialect::OpenAiChat));
    let machine = RunMachine::revive(&snapshot, config, Timestamp(world.now));
    let mut world = world.streams([text("Yes.")]);
    world.take_over(machine.expect("it was just written"));
    world.drive();
    assert_eq!(sent(&world), ["Bearer sk-secret"]);
}

#[test]
fn i04_a_restore_after_every_input_changes_nothing() {
    let run = |restores| {
        let mut world = keys(asking(), &["a", "b", "c"]);
        world = world.reply(refuses(401)).reply(refuses(503));
        world.restores = restores;
        world.streams([text("Yes.")]).turn()
    };
    let (plain, restored) = (run(false), run(true));
    assert_eq!(restored.seen.outputs, plain.seen.outputs);
    assert_eq!(restored.machine.snapshot(), plain.machine.snapshot());
}

#[test]
fn a_journal_has_no_key_and_replays() {
    let mut world = keys(asking(), &["sk-one", "sk-two"])
        .journaled()
        .reply(refuses(401))
        .streams([text("Yes.")])
        .turn();
    let text = written(&mut world);
    assert!(text.contains("authorized") && !text.contains("sk-"));
    let journal = parsed(&text);
    journal.replay().expect("it replays");
}

#[test]
fn nothing_that_the_host_gave_is_printed() {
    let authorization = Authorization {
        key: Some("sk-key".into()),
        headers: vec![("x-team".to_owned(), "sk-team".to_owned())],
    };
    let printed = format!("{authorization:?}");
    assert!(printed.contains("x-team") && !printed.contains("sk-"));
    let text = serde_json::to_string(&authorization).expect("JSON");
    assert!(text.contains("x-team") && !text.contains("sk-"), "{text}");
}

#[test]
fn a_key_goes_where_the_provider_wants_it() {
    let catalog = provider::Catalog::from_json(
        r#"{"providers": [{"name": "cloud", "dialect": "openai-chat", "base_url": "https://x.example/v1",
            "key_variable": "AZURE_KEY", "key_header": {"name": "api-key"}}]}"#,
    )
    .expect("a good provider");
    for (name, header) in [("cloud", "api-key"), ("anthropic", "x-api-key")] {
        let endpoint = catalog
            .find(name)
            .expect("it is there")
            .endpoint_for_host(None, "m", None, None)
            .expect("no key is needed here");
        let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
            config.endpoint = endpoint;
            config.credentials = Credentials::Host;
        });
        world.credentials.push_back(Ok("of-now"));
        world = world.reply(Reply::Silent);
        world.send("Go on");
        world.drive_until(|world| !world.seen.requests().is_empty());
        let sent = world.seen.effects().find_map(|(_, effect)| match effect {
            Effect::OpenStream { request } => Some(request.headers.clone()),
            _ => None,
        });
        let wanted = (header.to_owned(), "of-now".to_owned());
        assert!(sent.expect("a request").contains(&wanted), "{name}");
    }
}

#[test]
fn with_the_endpoints_own_key_nothing_is_asked() {
    let world = secret_numbers(Dialect::OpenAiChat).turn();
    let asks = |effect: &Effect| matches!(effect, Effect::Authorize { .. });
    assert!(!world.seen.effects().any(|(_, effect)| asks(effect)));
}

#[test]
fn the_silence_of_the_model_begins_with_its_request() {
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        config.credentials = Credentials::Host;
        config.retry.attempts = 1;
    });
    world.credentials.push_back(Ok("a"));
    let mut world = world.reply(Reply::Silent);
    world.send("Go on");
    world.wait(40_000);
    world.drive();
    let deadline = Deadline::Silence;
    assert_eq!(*failed(&world), Failure::TimedOut { deadline });
}
