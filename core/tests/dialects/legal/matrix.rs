//! Every prefix of every history, for every ordered pair of providers.
//!
//! By default each pair takes a share of the histories, another one than its neighbours.
//! `STEPWELL_ALL_HISTORIES=1` takes all for each pair; use it with `--release`.

use super::histories::{COUNT, cancelled, cut, history};
use super::pieces::mark;
use super::targets::{PROVIDERS, encode, endpoints, settings, tools};
use crate::validate;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::thread;
use stepwell_core::dialect::{Endpoint, GenerationSettings, HopIds, ModelRequest};
use stepwell_core::event::Message;

/// Each pair takes one history of so many.
const SHARE: u64 = 32;

/// The seeds of a pair's histories.
fn seeds(pair: usize) -> impl Iterator<Item = u64> {
    let all = std::env::var_os("STEPWELL_ALL_HISTORIES").is_some();
    let share = if all { 1 } else { SHARE };
    (0..COUNT).filter(move |seed| (seed + pair as u64).is_multiple_of(share))
}

/// What was found, by rule and target: how often, and the first case.
type Found = BTreeMap<String, (usize, String)>;

/// The histories that a cancel leaves within this one: cut after each message and within each, with and without what
/// the machine adds, and with what the user says next.
fn prefixes(messages: &[Message]) -> Vec<Vec<Message>> {
    let mut prefixes = vec![Vec::new()];
    for end in 1..=messages.len() {
        let whole = messages[..end].to_vec();
        if let Some(cut) = cut(&messages[end - 1]) {
            let mut broken = whole.clone();
            broken[end - 1] = cut;
            let mut closed = broken.clone();
            cancelled(&mut closed);
            closed.push(Message::user("next", "Go on."));
            prefixes.push(broken);
            prefixes.push(closed);
        }
        prefixes.push(whole);
    }
    prefixes
}

/// The APIs that got a signature of their own back.
type Signed = Mutex<BTreeSet<String>>;

fn name(endpoint: &Endpoint) -> String {
    format!("{} {}", endpoint.provider, endpoint.dialect.name())
}

fn check(
    endpoint: &Endpoint,
    seed: u64,
    source: &str,
    found: &Mutex<Found>,
    signed: &Signed,
) -> usize {
    let (tools, settings) = (tools(), settings(usize::try_from(seed).expect("small")));
    let others: Vec<_> = PROVIDERS
        .iter()
        .filter(|provider| **provider != endpoint.provider)
        .map(|provider| mark(provider))
        .collect();
    let all = prefixes(&history(seed, source));
    for (at, messages) in all.iter().enumerate() {
        let request = encode(endpoint, messages, &tools, &settings);
        let mut wrong = Vec::new();
        if let Err(breaches) = validate::request(endpoint.dialect, &endpoint.provider, &request) {
            wrong.extend(
                breaches
                    .into_iter()
                    .map(|breach| (breach.rule.clone(), breach.to_string())),
            );
        }
        let body = String::from_utf8(request.body).expect("JSON is UTF-8");
        if body.contains(&mark(&endpoint.provider)) {
            let mut signed = signed.lock().expect("no panic");
            signed.insert(name(endpoint));
        }
        let foreign = others.iter().filter(|mark| body.contains(*mark));
        wrong.extend(foreign.map(|mark| (format!("has {mark}"), String::new())));
        for (rule, breach) in wrong {
            let key = format!("{}: {rule}", name(endpoint));
            let mut found = found.lock().expect("no panic");
            let case = || {
                format!(
                    "{breach}\n  {source} seed {seed} prefix {at}\n  {}\n  {body}",
                    serde_json::to_string(messages).expect("JSON")
                )
            };
            found.entry(key).or_insert_with(|| (0, case())).0 += 1;
        }
    }
    all.len()
}

#[test]
fn i13_every_prefix_of_any_history_is_legal_for_every_provider() {
    let found = Mutex::new(Found::new());
    let counts = Mutex::new((0, 0));
    let signed = Signed::default();
    let pairs: Vec<_> = PROVIDERS
        .iter()
        .flat_map(|source| PROVIDERS.iter().map(move |target| (*source, *target)))
        .filter(|(source, target)| source != target)
        .collect();
    assert_eq!(pairs.len(), 132);
    thread::scope(|scope| {
        for half in 0..2 {
            let (found, counts, signed, pairs) = (&found, &counts, &signed, &pairs);
            scope.spawn(move || {
                for (pair, (source, target)) in pairs.iter().enumerate().skip(half).step_by(2) {
                    for endpoint in endpoints(target) {
                        let mut requests = 0;
                        for seed in seeds(pair) {
                            requests += check(&endpoint, seed, source, found, signed);
                        }
                        let mut counts = counts.lock().expect("no panic");
                        *counts = (counts.0 + 1, counts.1 + requests);
                    }
                }
            });
        }
    });
    report(found, counts);
    // What is a provider's own did go back.
    let signed = signed.into_inner().expect("no panic");
    let signs = |endpoint: &Endpoint| {
        let own = [
            "anthropic anthropic",
            "gemini gemini",
            "openai openai-responses",
            "openrouter openai-chat",
        ];
        own.contains(&name(endpoint).as_str())
    };
    let all = PROVIDERS.iter().flat_map(|provider| endpoints(provider));
    for endpoint in all.filter(signs) {
        assert!(
            signed.contains(&name(&endpoint)),
            "{endpoint:?}: {signed:?}"
        );
    }
}

/// Requests of every pair, a line each, into the file that `STEPWELL_REQUESTS` names.
#[test]
#[ignore = "is for tests/request-types, which holds them against the providers' own types"]
fn requests_for_the_providers_own_types() {
    let file = std::env::var_os("STEPWELL_REQUESTS").expect("STEPWELL_REQUESTS names a file");
    let mut lines = String::new();
    let pairs = PROVIDERS
        .iter()
        .flat_map(|source| PROVIDERS.iter().map(move |target| (source, target)));
    for (pair, (source, target)) in pairs.enumerate() {
        for endpoint in endpoints(target) {
            for seed in seeds(pair) {
                let settings = settings(usize::try_from(seed).expect("small"));
                // Of neighbours that differ by one message some say as much as all.
                for messages in prefixes(&history(seed, source)).iter().rev().step_by(7) {
                    let request = encode(&endpoint, messages, &tools(), &settings);
                    let body: Value = serde_json::from_slice(&request.body).expect("JSON");
                    let line = json!({
                        "provider": endpoint.provider,
                        "format": endpoint.dialect.name(),
                        "body": body,
                    });
                    lines.push_str(&format!("{line}\n"));
                }
            }
        }
    }
    std::fs::write(file, lines).expect("the file can be written");
}

#[test]
fn without_the_legaliser_every_api_refuses_some() {
    let ids = HopIds::default();
    let all = PROVIDERS.iter().flat_map(|provider| endpoints(provider));
    for endpoint in all {
        let refused = (0..COUNT).filter(|seed| {
            let messages = history(*seed, "openai");
            let request = ModelRequest {
                endpoint: &endpoint,
                ids: &ids,
                parent_run_id: None,
                instructions: None,
                messages: &messages.iter().collect::<Vec<_>>(),
                tools: &[],
                state: &Value::Null,
                settings: &GenerationSettings::default(),
                resume: &[],
                compact_above: None,
                now: stepwell_core::Timestamp(0),
            };
            let request = endpoint.dialect.encoder().encode(&request);
            validate::request(endpoint.dialect, &endpoint.provider, &request).is_err()
        });
        let refused = refused.count();
        assert!(refused > 20, "{}: {refused}", name(&endpoint));
    }
}

#[test]
fn i13_an_agent_gets_a_result_for_every_call() {
    let found = Mutex::new(Found::new());
    let mut requests = 0;
    for endpoint in endpoints("ag-ui") {
        for (source, seed) in PROVIDERS
            .iter()
            .flat_map(|source| (0..20).map(move |seed| (source, seed)))
        {
            let all = prefixes(&history(seed, source));
            for messages in &all {
                let request = encode(&endpoint, messages, &tools(), &settings(0));
                if let Err(breaches) = validate::request(endpoint.dialect, "ag-ui", &request) {
                    let case = format!("{source} {seed}: {messages:?}");
                    let key = breaches[0].to_string();
                    found.lock().expect("no panic").insert(key, (1, case));
                }
            }
            requests += all.len();
        }
    }
    report(found, Mutex::new((1, requests)));
}

fn report(found: Mutex<Found>, counts: Mutex<(usize, usize)>) {
    let found = found.into_inner().expect("no panic");
    let (apis, requests) = counts.into_inner().expect("no panic");
    println!("{requests} requests, of {apis} pairs of a source and an API");
    assert!(requests > 3_000, "{requests}");
    for (rule, (count, case)) in &found {
        println!("{count} x {rule}\n  {case}\n");
    }
    assert!(found.is_empty(), "{:#?}", found.keys().collect::<Vec<_>>());
}
