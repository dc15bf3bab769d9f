//! What each thread does.

use super::history::{Answer, Call, History};
use super::{RunHandle, SharedRegistry, ThreadKey};

/// One list of steps for each thread.
pub(super) type Script = Vec<Vec<Step>>;

/// Which handle a step names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Which {
    /// The handle of the run that owns the thread at the beginning.
    First,
    /// The last that this thread of the program was given; the first of all before that.
    Mine,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    Register,
    Replace(Which),
    Check(Which),
    Complete(Which),
    /// The run could not be disposed of.
    Fails(Which),
    Remove,
    LookAt,
    LookAway,
    Current,
    Unread,
    Poll,
}

impl Step {
    /// The first step of a thread has no handle of its own yet.
    pub(super) const ALL: [Self; 11] = [
        Self::Register,
        Self::Replace(Which::Mine),
        Self::Check(Which::Mine),
        Self::Complete(Which::Mine),
        Self::Fails(Which::Mine),
        Self::Remove,
        Self::LookAt,
        Self::LookAway,
        Self::Current,
        Self::Unread,
        Self::Poll,
    ];

    /// The steps that change something.
    pub(super) const CHANGES: [Self; 7] = [
        Self::Register,
        Self::Replace(Which::Mine),
        Self::Complete(Which::Mine),
        Self::Remove,
        Self::LookAt,
        Self::LookAway,
        Self::Poll,
    ];
}

/// All triples of steps, whatever their order.
pub(super) fn triples(steps: &[Step]) -> Vec<[Step; 3]> {
    let mut triples = Vec::new();
    for (first, &one) in steps.iter().enumerate() {
        for (second, &two) in steps.iter().enumerate().skip(first) {
            triples.extend(steps[second..].iter().map(|&three| [one, two, three]));
        }
    }
    triples
}

/// All pairs of steps.
pub(super) fn pairs() -> impl Iterator<Item = [Step; 2]> {
    Step::ALL
        .into_iter()
        .flat_map(|one| Step::ALL.map(|two| [one, two]))
}

/// Any script of this size; equal seeds give equal ones.
pub(super) fn random(seed: u64, threads: usize, steps: usize) -> Script {
    let mut state = seed;
    let mut random = move |below: usize| {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as usize % below
    };
    (0..threads)
        .map(|_| {
            (0..steps)
                .map(|_| Step::ALL[random(Step::ALL.len())])
                .collect()
        })
        .collect()
}

/// Runs the script's threads on a registry in which one run owns the thread, and looks whether it is explained.
pub(super) fn play(registry: &SharedRegistry, script: &Script) {
    let key = ThreadKey::from("thread");
    let owner = registry.register(key.clone()).handle;
    let before = registry.snapshot();
    let history = History::default();
    // The first thread of the script is the one that runs already: one less to be put in every order.
    let (own, others) = script.split_first().unwrap();
    let threads: Vec<_> = others
        .iter()
        .map(|steps| {
            let (registry, steps) = (registry.clone(), steps.clone());
            let (key, first, history) = (key.clone(), owner.clone(), history.clone());
            shuttle::thread::spawn(move || one_thread(&registry, &steps, &key, &first, &history))
        })
        .collect();
    one_thread(registry, own, &key, &owner, &history);
    for thread in threads {
        thread.join().unwrap();
    }
    history.assert_explained(&before, &registry.snapshot());
}

fn one_thread(
    registry: &SharedRegistry,
    steps: &[Step],
    key: &ThreadKey,
    first: &RunHandle,
    history: &History,
) {
    let mut mine = first.clone();
    for step in steps {
        let handle = |which: Which| {
            if which == Which::First {
                first.clone()
            } else {
                mine.clone()
            }
        };
        let call = match *step {
            Step::Register => Call::Register(key.clone()),
            Step::Replace(which) => Call::Replace(handle(which)),
            Step::Check(which) => Call::Check(handle(which)),
            Step::Complete(which) => Call::Complete(handle(which)),
            Step::Fails(which) => Call::Fails(handle(which)),
            Step::Remove => Call::Remove(key.clone()),
            Step::LookAt => Call::LookAt(Some(key.clone())),
            Step::LookAway => Call::LookAt(None),
            Step::Current => Call::Current(key.clone()),
            Step::Unread => Call::Unread(key.clone()),
            Step::Poll => Call::Poll,
        };
        match history.call(registry, call) {
            Answer::Registered(registered) => mine = registered.handle,
            Answer::Handle(Ok(handle)) => mine = handle,
            _ => {}
        }
    }
}
