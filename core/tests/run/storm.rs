//! A storm: three models of three dialects that fail in any way at any event, at least one of them with its answers in the
//! background, and hosts that die between any two effects. Each turn ends, nothing is shown twice or taken back, no tool
//! runs twice, and the cost is what the providers bill.
//!
//! A test run takes a share of the seeds; `cargo xtask prove storm` takes `STEPWELL_STORM` of them.

use std::collections::BTreeMap;
use std::env;
use std::time::Duration;
use stepwell_core::dialect::{Dialect, Endpoint, Resumption};
use stepwell_core::run::{
    Durability, Effect, ErrorKind, Fallback, FallbackModel, Output, RunConfig, RunEvent, StateKind,
};
use stepwell_core::tool::Tool;
use stepwell_testing::chaos::{Action, Chaos, Moment};

/// The seeds of a test run.
const SEEDS: u64 = 2_000;

/// The actions before the host lets the turn come to its end.
const ACTIONS: usize = 60;

/// SplitMix64: one seed, one storm, on every machine.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn small(&mut self) -> u16 {
        self.next() as u16
    }
}

fn endpoint(dialect: Dialect) -> Endpoint {
    let mut endpoint = stepwell_testing::world::config(dialect).endpoint;
    endpoint.base_url = format!("http://localhost/{}/v1", dialect.name());
    if dialect.has_background() {
        endpoint.quirks.resumption = Resumption::Background;
    }
    endpoint
}

fn config(dice: &mut Dice) -> RunConfig {
    // Any three neighbours have one with answers in the background.
    let mut models = [
        Dialect::OpenAiChat,
        Dialect::Anthropic,
        Dialect::OpenAiResponses,
        Dialect::BedrockConverse,
        Dialect::GeminiInteractions,
    ];
    models.rotate_left(dice.below(5) as usize);
    let mut config = RunConfig::new(endpoint(models[0]));
    for tool in [
        Tool::new("work", "Works."),
        Tool::new("look", "Looks.").idempotent(),
        Tool::new("ask", "Asks.").requires_approval(),
    ] {
        config.tools = config.tools.register(tool).expect("a sound tool");
    }
    config.durability = Durability::Blocks { attempts: 2 };
    config.limits.max_tool_rounds = 3;
    config.retry.first_delay = Duration::from_millis(10);
    config.fallback = Fallback {
        models: models[1..3]
            .iter()
            .map(|dialect| FallbackModel::from(endpoint(*dialect)))
            .collect(),
        after: vec![
            ErrorKind::Overloaded,
            ErrorKind::RateLimit,
            ErrorKind::ServerError,
            ErrorKind::Connection,
            ErrorKind::Timeout,
            ErrorKind::OutputInvalid,
        ],
        after_text: dice.below(2) == 0,
        rest: Duration::from_secs(dice.below(2) * 60),
        ..Fallback::default()
    };
    config
}

/// An action of a storm. Half of the storms have no crash.
fn action(dice: &mut Dice, kills: bool) -> Action {
    let (pick, detail) = (dice.small(), dice.small());
    match dice.below(20) {
        0 | 1 => Action::Wake,
        2 => Action::WakeEarly,
        3 => Action::LateAnswer { pick, detail },
        4 if dice.below(4) == 0 => Action::LoseNetwork,
        4 | 5 => Action::RegainNetwork,
        6 if kills => Action::Crash {
            written: dice.below(2) == 0,
        },
        7 if kills => Action::CrashAt {
            moment: match dice.below(4) {
                0 => Moment::DuringTool,
                1 => Moment::In(StateKind::Waiting),
                2 => Moment::In(StateKind::Opening),
                _ => Moment::In(StateKind::Streaming),
            },
            written: dice.below(2) == 0,
        },
        _ => Action::Answer { pick, detail },
    }
}

/// What happened in storms, so that a storm in which nothing happens is noticed.
#[derive(Debug, Default)]
struct Seen(BTreeMap<&'static str, u64>);

impl Seen {
    fn note(&mut self, chaos: &Chaos) {
        for output in chaos.outputs() {
            let what = match output {
                Output::Effect(_, Effect::OpenStream { request }) if request.method == "GET" => {
                    match request.url.split_once("?stream=true&") {
                        Some((_, query)) if query.starts_with("starting_after") => "read on",
                        Some(_) => "an interaction read on",
                        None => "read as a whole",
                    }
                }
                Output::Effect(_, Effect::OpenStream { request })
                    if request.url.contains("converse-stream") =>
                {
                    "asked of Bedrock"
                }
                Output::Effect(_, Effect::CancelAnswer { .. }) => "cancelled at the provider",
                Output::Effect(_, Effect::RunTool { .. }) => "tool",
                Output::Event(RunEvent::Retrying { .. }) => "retry",
                Output::Event(RunEvent::ModelChanged { .. }) => "another model",
                Output::Event(RunEvent::Completed(_)) => "end",
                _ => continue,
            };
            *self.0.entry(what).or_default() += 1;
        }
        *self.0.entry("crash").or_default() += chaos.crashes().len() as u64;
    }
}

fn storm(seed: u64, seen: &mut Seen) -> Result<(), String> {
    let mut dice = Dice(seed);
    let kills = seed.is_multiple_of(2);
    let mut chaos = Chaos::new(config(&mut dice));
    chaos.apply(Action::Start);
    for _ in 0..ACTIONS {
        let action = action(&mut dice, kills);
        chaos.apply(action);
    }
    chaos.finish().map_err(|violation| violation.to_string())?;
    seen.note(&chaos);
    let usage = chaos.machine().usage();
    let counted = (
        usage.input_tokens.unwrap_or(0),
        usage.output_tokens.unwrap_or(0),
    );
    let billed = match kills {
        false => chaos.billed(),
        true => chaos.billed_at_most(),
    };
    // What a host had received and not stored when it died cannot be counted.
    let is_right = match kills {
        false => counted == billed,
        true => counted.0 <= billed.0 && counted.1 <= billed.1,
    };
    match is_right {
        true => Ok(()),
        false => Err(format!(
            "{counted:?} tokens were counted, and {billed:?} billed"
        )),
    }
}

#[test]
fn every_turn_comes_through_a_storm() {
    let seeds = env::var("STEPWELL_STORM").map_or(SEEDS, |seeds| seeds.parse().expect("a number"));
    let mut seen = Seen::default();
    for seed in 0..seeds {
        if let Err(broken) = storm(seed, &mut seen) {
            panic!("the storm of the seed {seed}: {broken}");
        }
    }
    for what in [
        "read on",
        "an interaction read on",
        "read as a whole",
        "asked of Bedrock",
        "cancelled at the provider",
        "tool",
        "retry",
        "another model",
        "crash",
        "end",
    ] {
        let times = seen.0.get(what).copied().unwrap_or(0);
        assert!(
            times >= seeds / 100,
            "{what}: {times} times in {seeds} storms"
        );
    }
}
