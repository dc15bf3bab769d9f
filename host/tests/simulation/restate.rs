//! A stand-in for Restate. It gives turns to a host at least once: an attempt with which it has lost contact continues
//! for a while next to the next one, and one that has ended is made again where its answer was lost. Cancellations,
//! answers and results come late; it is away now and then, and a request that it reports as failed may be done.

use super::clients::chance::Chance;
use super::life::Life;
use super::trace::Trace;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stepwell_core::registry::ThreadKey;
use stepwell_serve::parts::seam::{Invocation, Reply, RestateError, Signal, Why, Work};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// The pauses between the attempts of an invocation.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// After what silence it gives up on an attempt.
const SILENCE: Duration = Duration::from_secs(2);

/// The time in which a host may not notice that Restate has given it up, in milliseconds.
const UNNOTICED: u64 = 10_000;

/// The state that all hosts share.
#[derive(Debug)]
pub(super) struct Server {
    chance: Chance,
    trace: Arc<Trace>,
    is_calm: AtomicBool,
    is_away: watch::Sender<bool>,
    pub(super) hosts: Mutex<Vec<(Arc<Life>, Arc<Work>)>>,
    objects: Mutex<BTreeMap<ThreadKey, Object>>,
    /// The keys of what was sent: one key is sent once.
    pub(super) sent: Mutex<BTreeSet<(ThreadKey, String)>>,
    pub(super) awaited: Mutex<BTreeMap<String, oneshot::Sender<Reply>>>,
    pub(super) numbers: AtomicU64,
}

/// A thread: one invocation has it at a time.
#[derive(Debug)]
pub(super) struct Object {
    queue: VecDeque<Invocation>,
    is_busy: bool,
    pub(super) signals: mpsc::UnboundedSender<Said>,
}

/// The messages to the object of a thread's signals, in order.
#[derive(Debug)]
pub(super) enum Said {
    /// An invocation begins, and is given those that came since the one before began, and those that come.
    DeliverTo(watch::Sender<Vec<Signal>>),
    PassOn(Signal),
}

/// The result of an attempt.
enum Attempt {
    Done,
    Again,
}

impl Server {
    pub(super) fn new(seed: u64, trace: &Arc<Trace>) -> Arc<Self> {
        Arc::new(Self {
            chance: Chance::of(seed, "Restate"),
            trace: Arc::clone(trace),
            is_calm: AtomicBool::default(),
            is_away: watch::Sender::default(),
            hosts: Mutex::default(),
            objects: Mutex::default(),
            sent: Mutex::default(),
            awaited: Mutex::default(),
            numbers: AtomicU64::default(),
        })
    }

    /// Ends the faults: from now on it is there, receives all requests, and is quick.
    pub(super) fn calm(&self) {
        self.is_calm.store(true, Ordering::Relaxed);
        self.is_away.send_replace(false);
    }

    fn is_calm(&self) -> bool {
        self.is_calm.load(Ordering::Relaxed)
    }

    /// Releases the hosts.
    pub(super) fn end(&self) {
        self.hosts.lock().unwrap().clear();
        self.objects.lock().unwrap().clear();
    }

    /// Makes it unreachable now and then.
    pub(super) async fn weather(self: Arc<Self>, chance: Chance, calm: CancellationToken) {
        loop {
            for is_away in [true, false] {
                let lasts = match is_away {
                    true => chance.millis(2_000..60_000),
                    false => chance.millis(100..15_000),
                };
                tokio::select! {
                    biased;
                    () = calm.cancelled() => return,
                    () = tokio::time::sleep(lasts) => {}
                }
                self.note(format!("is away: {is_away}"));
                self.is_away.send_replace(is_away);
            }
        }
    }

    pub(super) fn note(&self, what: impl AsRef<str>) {
        self.trace.note(format!("Restate: {}", what.as_ref()));
    }

    /// Decides whether a fault hits what is under way.
    fn befalls(&self, times: u64) -> bool {
        !self.is_calm() && self.chance.one_in(times)
    }

    /// Waits for a random delay.
    async fn late(&self) {
        let late = match self.befalls(8) {
            true => self.chance.millis(10..8_000),
            false => self.chance.millis(0..10),
        };
        tokio::time::sleep(late).await;
    }

    pub(super) fn away(why: &str) -> RestateError {
        RestateError::Away {
            url: "http://restate.example".to_owned(),
            reason: why.to_owned(),
        }
    }

    /// Takes what a host asks for.
    pub(super) async fn asked(&self) -> Result<(), RestateError> {
        self.late().await;
        match *self.is_away.borrow() || self.befalls(20) {
            true => Err(Self::away("it is away")),
            false => Ok(()),
        }
    }

    /// Says that it has done it, unless the answer is lost.
    pub(super) fn answers<T>(&self, done: T) -> Result<T, RestateError> {
        match *self.is_away.borrow() || self.befalls(12) {
            true => Err(Self::away("its answer is lost")),
            false => Ok(done),
        }
    }

    pub(super) fn with<T>(
        self: &Arc<Self>,
        thread: &ThreadKey,
        does: impl FnOnce(&mut Object) -> T,
    ) -> T {
        let mut objects = self.objects.lock().unwrap();
        let object = objects.entry(thread.clone()).or_insert_with(|| {
            let (signals, said) = mpsc::unbounded_channel();
            tokio::spawn(Arc::clone(self).signals(said));
            Object {
                queue: VecDeque::new(),
                is_busy: false,
                signals,
            }
        });
        does(object)
    }

    /// The object of a thread's signals.
    async fn signals(self: Arc<Self>, mut said: mpsc::UnboundedReceiver<Said>) {
        let mut driven: Option<watch::Sender<Vec<Signal>>> = None;
        let mut came = Vec::new();
        while let Some(said) = said.recv().await {
            self.late().await;
            match said {
                Said::DeliverTo(next) => {
                    next.send_replace(std::mem::take(&mut came));
                    driven = Some(next);
                }
                Said::PassOn(signal) => {
                    if let Some(driven) = &driven {
                        driven.send_modify(|signals| signals.push(signal.clone()));
                    }
                    came.push(signal);
                }
            }
        }
    }

    pub(super) fn awaits(&self, signal: &Signal, reply: oneshot::Sender<Reply>) {
        let mut awaited = self.awaited.lock().unwrap();
        awaited.insert(signal.reply_to.clone(), reply);
    }

    /// Has an invocation done, after those of its thread before.
    pub(super) fn invoke(self: &Arc<Self>, invocation: Invocation) {
        let thread = invocation.thread.clone();
        let is_idle = self.with(&thread, |object| {
            object.queue.push_back(invocation);
            !std::mem::replace(&mut object.is_busy, true)
        });
        if is_idle {
            tokio::spawn(Arc::clone(self).work_off(thread));
        }
    }

    async fn work_off(self: Arc<Self>, thread: ThreadKey) {
        loop {
            let (signals, came) = watch::channel(Vec::new());
            let next = self.with(&thread, |object| {
                let next = object.queue.pop_front();
                object.is_busy = next.is_some();
                if next.is_some() {
                    let _ = object.signals.send(Said::DeliverTo(signals));
                }
                next
            });
            let Some(invocation) = next else { return };
            let mut pause = FIRST_PAUSE;
            while let Attempt::Again = self.attempt(&invocation, &came).await {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }

    async fn attempt(
        &self,
        invocation: &Invocation,
        came: &watch::Receiver<Vec<Signal>>,
    ) -> Attempt {
        let mut is_away = self.is_away.subscribe();
        let _ = is_away.wait_for(|is_away| !is_away).await;
        let hosts = self.hosts.lock().unwrap().clone();
        let living: Vec<_> = hosts.iter().filter(|(life, _)| !life.is_dead()).collect();
        if living.is_empty() {
            return Attempt::Again;
        }
        let (life, work) = (*self.chance.of_slice(&living)).clone();
        self.note(format!(
            "gives {} to {}: {}",
            invocation.turn.as_str(),
            life.name,
            why(invocation)
        ));
        let (cut, is_cut) = watch::channel(false);
        let (invocation, came) = (invocation.clone(), came.clone());
        let mut driven = tokio::spawn(async move {
            let signal = |number| next(number, came.clone(), is_cut.clone());
            work.drive(&invocation, signal).await
        });
        let heard_for = match self.befalls(6) {
            true => self.chance.millis(0..20_000),
            false => Duration::from_secs(365 * 86_400),
        };
        let goes_away = async move { drop(is_away.wait_for(|is_away| *is_away).await) };
        tokio::select! {
            biased;
            () = life.dies() => Attempt::Again,
            // The connection breaks, and the host releases the turn.
            () = goes_away => {
                driven.abort();
                Attempt::Again
            }
            ended = &mut driven => match ended.expect("no panic") {
                Ok(()) if !self.befalls(10) => Attempt::Done,
                ended => {
                    self.note(format!("{} has said {ended:?}, and it is made again", life.name));
                    Attempt::Again
                }
            },
            () = tokio::time::sleep(heard_for) => {
                self.note(format!("hears nothing more of {}", life.name));
                cut.send_replace(true);
                let unnoticed = self.chance.millis(0..UNNOTICED);
                tokio::spawn(async move {
                    tokio::time::sleep(unnoticed).await;
                    driven.abort();
                    drop(cut);
                });
                tokio::time::sleep(SILENCE).await;
                Attempt::Again
            }
        }
    }
}

/// The signal of this number, if the host is reached.
async fn next(
    number: u64,
    mut came: watch::Receiver<Vec<Signal>>,
    is_cut: watch::Receiver<bool>,
) -> Option<Signal> {
    let number = usize::try_from(number).unwrap_or(usize::MAX);
    let signal = match came.wait_for(|came| came.len() > number).await {
        Ok(came) => Some(came[number].clone()),
        Err(_) => None,
    };
    if signal.is_none() || *is_cut.borrow() {
        std::future::pending::<()>().await;
    }
    signal
}

fn why(invocation: &Invocation) -> &'static str {
    match invocation.why {
        Why::Begun => "it has begun",
        Why::Lapsed(_) => "it has rested",
        Why::Told(_) => "it is told something",
    }
}
