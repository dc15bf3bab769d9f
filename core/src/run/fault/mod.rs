//! Wrong behaviours that the model checker must find. They exist with the feature `model-check` alone; without it
//! `fault!` is `false`.

#[cfg(feature = "model-check")]
mod seeded;

#[cfg(feature = "model-check")]
pub use seeded::{Fault, is_seeded, seed};

#[cfg(feature = "model-check")]
macro_rules! fault {
    ($name:ident) => {
        crate::run::fault::is_seeded(crate::run::fault::Fault::$name)
    };
}

#[cfg(not(feature = "model-check"))]
macro_rules! fault {
    ($name:ident) => {
        false
    };
}

pub(super) use fault;
