//! Hears the moves of runs, as they are traced.

use std::cell::RefCell;
use std::fmt;
use std::sync::OnceLock;
use stepwell_core::run::EDGES;
use tracing::field::{Field, Visit};
use tracing::span;
use tracing::{Event, Metadata, Subscriber};

/// A move: from, on, to.
pub type Move = (String, String, String);

thread_local! {
    static MOVES: RefCell<Vec<Move>> = const { RefCell::new(Vec::new()) };
}

/// From now on, moves are heard.
pub fn listen() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        tracing::subscriber::set_global_default(Listener).expect("there is no other subscriber");
    });
    MOVES.with_borrow_mut(Vec::clear);
}

/// The moves of this thread's runs since the last call. Each is one that the table of edges has.
pub fn take() -> Vec<Move> {
    let moves = MOVES.take();
    for (from, on, to) in &moves {
        let is_known = EDGES.iter().any(|row| {
            (row.from.to_string(), row.on, row.to.to_string())
                == (from.clone(), on.as_str(), to.clone())
        });
        assert!(is_known, "no edge {from} --{on}--> {to}");
    }
    moves
}

struct Listener;

#[derive(Default)]
struct Fields {
    from: String,
    on: String,
    to: String,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let slot = match field.name() {
            "from" => &mut self.from,
            "on" => &mut self.on,
            "to" => &mut self.to,
            _ => return,
        };
        *slot = format!("{value:?}");
    }
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("stepwell")
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        if !fields.from.is_empty() {
            MOVES.with_borrow_mut(|moves| moves.push((fields.from, fields.on, fields.to)));
        }
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}
