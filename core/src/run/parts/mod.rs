//! What a turn is made of, each part by itself: none knows another's inside, nor the turn that they make.

mod access;
mod answer;
mod bookmark;
mod budget;
mod clocks;
mod context_window;
mod effects;
mod empty_answer;
mod network;
mod partial_calls;
mod partial_output;
mod presenter;
mod questions;
mod queue;
mod recorder;
mod steering;
mod text_layer;
mod typed_answer;

pub(super) use access::Access;
pub(super) use answer::{Answer, Reading};
pub(super) use bookmark::Beginnings;
pub(super) use budget::{Budget, Repeated, call_digest};
pub(super) use clocks::Clocks;
pub(super) use context_window::ContextWindow;
pub(super) use effects::Effects;
pub(super) use empty_answer::EmptyAnswer;
pub(super) use network::Network;
pub(super) use presenter::Presenter;
pub(super) use questions::Questions;
pub(super) use queue::{Entry, delta_event};
pub(super) use recorder::stream::StreamOf;
pub(super) use recorder::{Recorder, StreamNotes};
pub(super) use steering::Steering;
pub(super) use typed_answer::TypedAnswer;
