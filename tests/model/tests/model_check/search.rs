//! The main search: breadth first with the graph kept, for short counterexamples and for properties of the graph as a
//! whole; depth first with nothing kept but fingerprints, for the largest spaces.

use crate::bounds::Bounds;
use crate::moves::Move;
use crate::world::World;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt::Write;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};
use stepwell_core::run::EdgeRow;

/// A fingerprint is a hash already.
#[derive(Default)]
pub struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("only fingerprints are looked up")
    }

    fn write_u64(&mut self, print: u64) {
        self.0 = print;
    }
}

type Prints = HashSet<u64, BuildHasherDefault<AsIs>>;

/// The result of a search.
#[derive(Debug, Default)]
pub struct Report {
    pub states: usize,
    pub transitions: usize,
    pub ends: usize,
    pub depth: usize,
    pub time: Duration,
    pub walked: HashSet<EdgeRow>,
    /// The first thing that went wrong, and how it came to it.
    pub fault: Option<Counterexample>,
    /// The bound on the states was reached: there are more.
    pub is_cut: bool,
}

#[derive(Clone, Debug)]
pub struct Counterexample {
    pub what: String,
    pub moves: Vec<Move>,
}

impl Report {
    pub fn print(&self, name: &str) {
        let seconds = self.time.as_secs_f64();
        println!(
            "{name}: {} states{}, {} transitions, {} ends, depth {}, {seconds:.1} s ({:.0} states/s)",
            self.states,
            if self.is_cut { " (cut off)" } else { "" },
            self.transitions,
            self.ends,
            self.depth,
            self.states as f64 / seconds.max(0.001),
        );
    }

    /// Fails with the way that leads to the fault.
    #[track_caller]
    pub fn assert_right(&self, bounds: &Bounds) {
        if let Some(fault) = &self.fault {
            panic!(
                "{}: {} (after {} states, {} moves)\n{}",
                bounds.name,
                fault.what,
                self.states,
                fault.moves.len(),
                story(bounds, &fault.moves)
            );
        }
    }
}

/// A counterexample, move by move.
pub fn story(bounds: &Bounds, moves: &[Move]) -> String {
    let mut out = String::new();
    let mut world = World::new(&Arc::new(bounds.clone()));
    for (number, step) in moves.iter().enumerate() {
        world = world.after(*step);
        let hands: Vec<_> = world.hands.iter().map(|(id, _)| id.to_string()).collect();
        let _ = writeln!(
            out,
            "{:>3}. {step}\n      {}, hop {}; the host holds [{}]; timers {:?}; stored {}",
            number + 1,
            world.machine.state(),
            world.machine.hop(),
            hands.join(" "),
            world.timers(),
            world.store.blocks,
        );
    }
    let _ = writeln!(out, "      {}", world.machine.snapshot());
    out
}

/// The share of the new states that are also fed every mad input, and continue as their snapshot restores them: each,
/// or one in this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extras(pub u64);

impl Extras {
    pub const ALL: Self = Self(1);
    pub const NONE: Self = Self(0);

    fn check(self, world: &mut World, print: u64) {
        if self.0 > 0 && print.is_multiple_of(self.0) {
            world.restore();
            world.go_mad();
        }
    }
}

struct Edge {
    from: u32,
    to: u32,
    is_kind: bool,
}

/// Breadth first, up to `limit` states.
pub fn breadth_first(bounds: &Bounds, limit: usize, extras: Extras) -> Report {
    let started = Instant::now();
    let mut report = Report::default();
    let bounds = Arc::new(bounds.clone());
    let mut index: HashMap<u64, u32, BuildHasherDefault<AsIs>> = HashMap::default();
    let mut parents: Vec<(u32, Move)> = Vec::new();
    let mut edges: Vec<Edge> = Vec::new();
    let mut is_end: Vec<bool> = Vec::new();
    let mut queue: VecDeque<(u32, usize, World)> = VecDeque::new();

    let first = World::new(&bounds);
    index.insert(first.print(), 0);
    parents.push((u32::MAX, Move::Start));
    is_end.push(false);
    queue.push_back((0, 0, first));

    let way = |parents: &[(u32, Move)], mut at: u32, last: Option<Move>| {
        let mut moves: Vec<_> = last.into_iter().collect();
        while let (parent, step) = parents[at as usize]
            && parent != u32::MAX
        {
            moves.push(step);
            at = parent;
        }
        moves.reverse();
        moves
    };

    'search: while let Some((at, depth, world)) = queue.pop_front() {
        report.depth = report.depth.max(depth);
        for step in world.moves() {
            let mut next = world.after(step);
            report.transitions += 1;
            report.walked.extend(next.walked.drain(..));
            let print = next.print();
            let number = u32::try_from(index.len()).expect("fewer states than that");
            let to = *index.entry(print).or_insert(number);
            let is_new = to == number;
            if is_new && next.fault.is_none() {
                extras.check(&mut next, print);
            }
            if let Some(what) = next.fault.take() {
                let moves = way(&parents, at, Some(step));
                report.fault = Some(Counterexample { what, moves });
                break 'search;
            }
            if to != at {
                edges.push(Edge {
                    from: at,
                    to,
                    is_kind: step.is_kind(),
                });
            }
            if is_new {
                parents.push((at, step));
                is_end.push(next.is_over());
                queue.push_back((to, depth + 1, next));
            }
        }
        if index.len() >= limit {
            report.is_cut = true;
            break;
        }
    }
    report.states = index.len();
    report.ends = is_end.iter().filter(|is_end| **is_end).count();
    if report.fault.is_none() && !report.is_cut {
        let found = cycle(report.states, &edges)
            .map(|at| (at, "I1: the graph has a cycle: some run never ends"))
            .or_else(|| {
                stuck(report.states, &edges, &is_end)
                    .map(|at| (at, "I1: no end can be reached in a kind world"))
            });
        report.fault = found.map(|(at, what)| Counterexample {
            what: what.to_owned(),
            moves: way(&parents, at, None),
        });
    }
    report.time = started.elapsed();
    report
}

/// Kahn: takes away states that nothing leads to, until none is left. Gives a state of a cycle.
fn cycle(states: usize, edges: &[Edge]) -> Option<u32> {
    let mut incoming = vec![0u32; states];
    let (starts, targets) = by_source(states, edges.iter().map(|edge| (edge.from, edge.to)));
    for edge in edges {
        incoming[edge.to as usize] += 1;
    }
    let mut free: Vec<u32> = (0..states as u32)
        .filter(|state| incoming[*state as usize] == 0)
        .collect();
    while let Some(state) = free.pop() {
        let state = state as usize;
        for &to in &targets[starts[state]..starts[state + 1]] {
            incoming[to as usize] -= 1;
            if incoming[to as usize] == 0 {
                free.push(to);
            }
        }
    }
    incoming
        .iter()
        .position(|count| *count > 0)
        .map(|state| state as u32)
}

/// Backwards from the ends, along what happens in a kind world. Gives a state from which none can be reached.
fn stuck(states: usize, edges: &[Edge], is_end: &[bool]) -> Option<u32> {
    let kind = edges.iter().filter(|edge| edge.is_kind);
    let (starts, sources) = by_source(states, kind.map(|edge| (edge.to, edge.from)));
    let mut reaches = is_end.to_vec();
    let mut open: Vec<usize> = (0..states).filter(|state| is_end[*state]).collect();
    while let Some(state) = open.pop() {
        for &from in &sources[starts[state]..starts[state + 1]] {
            if !std::mem::replace(&mut reaches[from as usize], true) {
                open.push(from as usize);
            }
        }
    }
    reaches
        .iter()
        .position(|reaches| !reaches)
        .map(|state| state as u32)
}

/// The pairs as lists: those of state `s` are `targets[starts[s]..starts[s + 1]]`.
fn by_source(
    states: usize,
    pairs: impl Iterator<Item = (u32, u32)> + Clone,
) -> (Vec<usize>, Vec<u32>) {
    let mut starts = vec![0usize; states + 1];
    for (from, _) in pairs.clone() {
        starts[from as usize + 1] += 1;
    }
    for state in 0..states {
        starts[state + 1] += starts[state];
    }
    let mut next = starts.clone();
    let mut targets = vec![0u32; starts[states]];
    for (from, to) in pairs {
        targets[next[from as usize]] = to;
        next[from as usize] += 1;
    }
    (starts, targets)
}

/// Searches depth first, up to `limit` states. A way back to a state on the stack is a cycle; a state from which no
/// kind move leads on, and that is no end, is stuck. Together these find the same as the two checks of the whole graph.
pub fn depth_first(bounds: &Bounds, limit: usize, extras: Extras) -> Report {
    struct Frame {
        print: u64,
        world: World,
        moves: Vec<Move>,
        /// The move that led here.
        by: Option<Move>,
        goes_on: bool,
    }

    let started = Instant::now();
    let mut report = Report::default();
    let first = World::new(&Arc::new(bounds.clone()));
    let mut seen = Prints::default();
    let mut on_stack = Prints::default();
    let print = first.print();
    seen.insert(print);
    on_stack.insert(print);
    let mut stack = vec![Frame {
        print,
        moves: first.moves(),
        world: first,
        by: None,
        goes_on: false,
    }];
    let mut what = None;
    let mut last = None;

    while let Some(top) = stack.last_mut() {
        report.depth = report.depth.max(on_stack.len() - 1);
        let Some(step) = top.moves.pop() else {
            if !top.goes_on && !top.world.is_over() && !report.is_cut {
                what = Some("I1: no end can be reached in a kind world".to_owned());
                break;
            }
            on_stack.remove(&top.print);
            stack.pop();
            continue;
        };
        let mut next = top.world.after(step);
        report.transitions += 1;
        if report.walked.len() < stepwell_core::run::EDGES.len() {
            report.walked.extend(next.walked.drain(..));
        }
        let print = next.print();
        let is_same = print == top.print;
        top.goes_on |= step.is_kind() && !is_same;
        let is_new = seen.insert(print);
        if is_new && next.fault.is_none() {
            extras.check(&mut next, print);
        }
        if next.fault.is_none() && !is_same && on_stack.contains(&print) {
            next.wrong("I1: the graph has a cycle: some run never ends");
        }
        if let Some(fault) = next.fault.take() {
            what = Some(fault);
            last = Some(step);
            break;
        }
        if !is_new {
            continue;
        }
        report.ends += usize::from(next.is_over());
        if seen.len() >= limit {
            report.is_cut = true;
            break;
        }
        on_stack.insert(print);
        stack.push(Frame {
            print,
            moves: next.moves(),
            world: next,
            by: Some(step),
            goes_on: false,
        });
    }
    report.states = seen.len();
    report.fault = what.map(|what| Counterexample {
        what,
        moves: stack
            .iter()
            .filter_map(|frame| frame.by)
            .chain(last)
            .collect(),
    });
    report.time = started.elapsed();
    report
}
