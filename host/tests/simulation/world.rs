//! What a seed is about: the hosts, their store, and what is known of all that happened.

use super::super::{Backend, EngineSettings, Host, Limits, Serving, SessionStore};
use super::clients::chance::Chance;
use super::clients::findings::{Finding, Rule};
use super::life::Life;
use super::model;
use super::store::{FaultyStore, Kept, Weather, timestamp};
use super::tools::{Begun, tools};
use super::trace::Trace;
use super::wire::Provider;
#[cfg(feature = "restate")]
use super::{restate, restate_ingress};
use crate::access::Access;
use crate::settings::Record;
use crate::setup::Compaction;
use axum::Router;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stepwell_core::Timestamp;
use stepwell_core::run::Limits as RunLimits;
use stepwell_io::config::Endpoint;
use stepwell_io::credentials::Secret;
use stepwell_io::provider;
use stepwell_serve::ClientTrust;

/// The time that a turn may take.
pub(super) const RUN_TIME: Duration = Duration::from_secs(600);

/// How long a question stays open.
pub(super) const INTERRUPT_TIME: Duration = Duration::from_secs(600);

/// How long a run continues without readers.
pub(super) const LINGER: Duration = Duration::from_secs(30);

/// The time that a host may take to come up, or to report that it cannot.
const LONGEST_START: Duration = Duration::from_secs(150);

/// The settings with which a host is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Config {
    pub(super) provider: Provider,
    pub(super) without: Option<&'static str>,
    pub(super) rounds: u32,
}

/// The engine that the hosts have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    Local,
    /// An engine that behaves as Restate does.
    #[cfg(feature = "restate")]
    Restate,
}

/// A host that is up.
#[derive(Clone)]
pub(super) struct Up {
    pub(super) life: Arc<Life>,
    pub(super) router: Router,
    pub(super) host: Arc<Host>,
}

/// The place of a host: it may be up or down.
pub(super) struct Place {
    /// Its name among the hosts on the store.
    pub(super) config: Mutex<Config>,
    up: Mutex<Option<Up>>,
    /// The life that began last, whether it is up or not.
    life: Mutex<Option<Arc<Life>>>,
    lives: AtomicU64,
}

/// A turn that a client has asked for.
#[derive(Clone, Debug)]
pub(super) struct Posted {
    pub(super) thread: String,
    pub(super) turn: String,
    /// Whether the turn was posted with a tool of the client's.
    pub(super) has_tools: bool,
}

pub(super) struct World {
    pub(super) seed: u64,
    pub(super) engine: Which,
    pub(super) trace: Arc<Trace>,
    pub(super) kept: Kept,
    /// The stand-in for Restate, if the hosts have one.
    #[cfg(feature = "restate")]
    pub(super) restate: Option<Arc<restate::Server>>,
    pub(super) places: Vec<Place>,
    weather: Mutex<Weather>,
    is_calm: AtomicBool,
    answers: AtomicU64,
    findings: Mutex<Vec<Finding>>,
    begun: Mutex<Vec<Begun>>,
    /// The receiver of each of the model's answers, and whether it got all of it.
    given: Mutex<BTreeMap<u64, (Arc<Life>, bool)>>,
    posted: Mutex<Vec<Posted>>,
    /// The last event of each turn that a host has noted as seen.
    seen: Mutex<BTreeMap<String, u64>>,
    /// The results of clients' calls that were taken, by turn and call.
    results: Mutex<BTreeMap<(String, String), Vec<String>>>,
}

impl World {
    pub(super) fn new(seed: u64, hosts: u64, config: Config, engine: Which) -> Arc<Self> {
        let places = (0..hosts).map(|_| Place {
            config: Mutex::new(config),
            up: Mutex::default(),
            life: Mutex::default(),
            lives: AtomicU64::new(0),
        });
        let trace = Arc::new(Trace::new());
        Arc::new(Self {
            seed,
            #[cfg(feature = "restate")]
            restate: match engine {
                Which::Local => None,
                Which::Restate => Some(restate::Server::new(seed, &trace)),
            },
            engine,
            trace,
            kept: Kept::default(),
            places: places.collect(),
            weather: Mutex::new(Weather::Fine),
            is_calm: AtomicBool::new(false),
            answers: AtomicU64::new(0),
            findings: Mutex::default(),
            begun: Mutex::default(),
            given: Mutex::default(),
            posted: Mutex::default(),
            seen: Mutex::default(),
            results: Mutex::default(),
        })
    }

    pub(super) fn timestamp(&self) -> Timestamp {
        timestamp(self.trace.now())
    }

    pub(super) fn weather(&self) -> Weather {
        *self.weather.lock().unwrap()
    }

    pub(super) fn set_weather(&self, weather: Weather) {
        self.trace.note(format!("the store: {weather:?}"));
        *self.weather.lock().unwrap() = weather;
    }

    /// From now on nothing goes wrong any more.
    pub(super) fn calm(&self) {
        self.is_calm.store(true, Ordering::Relaxed);
        self.set_weather(Weather::Fine);
        #[cfg(feature = "restate")]
        if let Some(restate) = &self.restate {
            restate.calm();
        }
        for place in &self.places {
            if let Some(life) = &*place.life.lock().unwrap() {
                life.plan(None);
            }
        }
    }

    pub(super) fn is_calm(&self) -> bool {
        self.is_calm.load(Ordering::Relaxed)
    }

    pub(super) fn next_answer(&self) -> u64 {
        self.answers.fetch_add(1, Ordering::Relaxed)
    }

    /// A rule is broken.
    pub(super) fn finds(&self, rule: Rule, turn: &str, what: impl Into<String>) {
        let what = what.into();
        self.trace
            .note(format!("BROKEN {rule:?}, turn `{turn}`: {what}"));
        self.findings.lock().unwrap().push(Finding {
            rule,
            turn: turn.to_owned(),
            what,
        });
    }

    pub(super) fn findings(&self) -> Vec<Finding> {
        self.findings.lock().unwrap().clone()
    }

    pub(super) fn begins(&self, begun: Begun) {
        self.begun.lock().unwrap().push(begun);
    }

    pub(super) fn begun(&self) -> Vec<Begun> {
        self.begun.lock().unwrap().clone()
    }

    /// The model begins an answer.
    pub(super) fn gives(&self, number: u64, to: &Arc<Life>) {
        let mut given = self.given.lock().unwrap();
        given.insert(number, (Arc::clone(to), false));
    }

    /// Notes that the model has sent all of the answer.
    pub(super) fn has_given(&self, number: u64) {
        if let Some((_, is_whole)) = self.given.lock().unwrap().get_mut(&number) {
            *is_whole = true;
        }
    }

    /// Returns whether the end of a host has cut the answer.
    pub(super) fn is_cut(&self, number: u64) -> bool {
        let given = self.given.lock().unwrap();
        let answer = given.get(&number);
        answer.is_some_and(|(life, is_whole)| life.is_dead() && !is_whole)
    }

    /// A client asks for a turn: its id is `number` of its thread.
    pub(super) fn post(&self, thread: &str, has_tools: bool) -> Posted {
        let mut posted = self.posted.lock().unwrap();
        let turn = Posted {
            thread: thread.to_owned(),
            turn: format!("{thread}{}", posted.len()),
            has_tools,
        };
        posted.push(turn.clone());
        turn
    }

    pub(super) fn posted(&self) -> Vec<Posted> {
        self.posted.lock().unwrap().clone()
    }

    /// A host has noted that the user has seen a turn so far.
    pub(super) fn sees(&self, turn: &str, index: u64) {
        let mut seen = self.seen.lock().unwrap();
        let last = seen.entry(turn.to_owned()).or_default();
        *last = index.max(*last);
    }

    pub(super) fn seen(&self, turn: &str) -> Option<u64> {
        self.seen.lock().unwrap().get(turn).copied()
    }

    /// Notes that a host has accepted the result.
    pub(super) fn takes_result(&self, turn: &Posted, call: &str, text: &str) {
        let key = (turn.turn.clone(), call.to_owned());
        let mut results = self.results.lock().unwrap();
        results.entry(key).or_default().push(text.to_owned());
    }

    /// The results that were taken of the turn's calls.
    pub(super) fn results_of(&self, turn: &Posted) -> Vec<(String, Vec<String>)> {
        let results = self.results.lock().unwrap();
        let own = results.iter().filter(|((of, _), _)| *of == turn.turn);
        own.map(|((_, call), taken)| (call.clone(), taken.clone()))
            .collect()
    }

    pub(super) fn ups(&self) -> Vec<Up> {
        let ups = self.places.iter().filter_map(Place::up);
        ups.collect()
    }

    /// Starts a host, and starts it again where it does not come up.
    pub(super) async fn start(self: &Arc<Self>, place: usize, kill_after: Option<u64>) {
        let mut kill_after = kill_after;
        loop {
            let config = *self.places[place].config.lock().unwrap();
            let life = self.life(place);
            life.plan(kill_after.take().filter(|_| !self.is_calm()));
            *self.places[place].life.lock().unwrap() = Some(Arc::clone(&life));
            self.trace.note(format!("{} starts: {config:?}", life.name));
            let (backend, serving) = self.parts(&life, config);
            let opened = tokio::select! {
                biased;
                () = life.dies() => None,
                opened = tokio::time::timeout(LONGEST_START, Host::open(backend, serving)) => Some(opened),
            };
            match opened {
                Some(Ok(Ok(host))) => {
                    self.trace.note(format!("{} is up", life.name));
                    let up = Up {
                        router: host.router(),
                        host: Arc::new(host),
                        life,
                    };
                    *self.places[place].up.lock().unwrap() = Some(up);
                    return;
                }
                Some(Ok(Err(error))) => life.kill(&format!("it does not come up: {error}")),
                Some(Err(_)) => {
                    let what = format!("{} neither comes up nor gives up", life.name);
                    self.finds(Rule::Answered, &life.name, what);
                    life.kill("nobody waits for it any more");
                }
                None => {}
            }
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
    }

    fn life(&self, place: usize) -> Arc<Life> {
        let number = self.places[place].lives.fetch_add(1, Ordering::Relaxed);
        let name = format!("host{place}.{number}");
        let chance = Chance::of(self.seed, &name);
        let trace = Arc::clone(&self.trace);
        Arc::new(Life::new(name, chance, trace))
    }

    fn parts(self: &Arc<Self>, life: &Arc<Life>, config: Config) -> (Backend, Serving) {
        let backend = Backend {
            compaction: Compaction::default(),
            endpoint: endpoint(config.provider),
            offered: Vec::new(),
            fallback: Vec::new(),
            instructions: None,
            limits: RunLimits {
                max_tool_rounds: config.rounds,
                ..RunLimits::default()
            },
            tools: tools(self, life, config.without),
            client: model::client(self, life),
        };
        let minute = Duration::from_secs(60);
        let serving = Serving {
            engine: self.engine(life),
            limits: Limits {
                body: 1 << 20,
                runs: 100,
                connections: 100,
                header_timeout: minute,
                idle_timeout: minute,
                run_time: RUN_TIME,
                interrupt_time: INTERRUPT_TIME,
                linger: Some(LINGER),
                keep_events: None,
                store_timeout: minute,
                grace: Duration::from_secs(10),
                user_runs: None,
                user_threads: None,
                user_requests: None,
                user_waiting: 100,
                user_streams: None,
            },
            sessions: SessionStore {
                store: Arc::new(FaultyStore::new(Arc::clone(self), Arc::clone(life))),
                label: "stepwell".to_owned(),
                is_durable: true,
            },
            access: Access::default(),
            trust: ClientTrust::default(),
            origins: Vec::new(),
            hosts: Vec::new(),
            record: Record::Off,
            keep_alive: Duration::from_secs(15),
        };
        (backend, serving)
    }

    fn engine(&self, _life: &Arc<Life>) -> EngineSettings {
        #[cfg(feature = "restate")]
        if let Some(restate) = &self.restate {
            return EngineSettings::Simulated(restate_ingress::Maker::new(restate, _life));
        }
        EngineSettings::Local
    }

    /// Releases the hosts, which hold the world too.
    pub(super) fn end(&self) {
        #[cfg(feature = "restate")]
        if let Some(restate) = &self.restate {
            restate.end();
        }
        for place in &self.places {
            place.up.lock().unwrap().take();
            place.life.lock().unwrap().take();
        }
        self.given.lock().unwrap().clear();
        self.kept.forget();
    }
}

impl Place {
    pub(super) fn up(&self) -> Option<Up> {
        let up = self.up.lock().unwrap().clone();
        up.filter(|up| !up.life.is_dead())
    }
}

fn endpoint(which: Provider) -> Endpoint {
    let (name, key) = match which {
        Provider::Chat => ("openai-compatible", None),
        Provider::Messages => ("anthropic", Some(Secret::from("key"))),
    };
    let provider = provider::find(name).expect("it is known");
    let address = Some("http://model.example/v1");
    let endpoint = provider.endpoint(None, "m", address, key);
    endpoint.expect("it can be asked")
}
