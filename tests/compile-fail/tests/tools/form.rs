#![allow(unused)]

use stepwell_macros::tool;

#[tool]
async fn without_a_comment(city: String) -> String {
    city
}

/// Takes what it does not own.
#[tool]
async fn of_references(city: &str, days: &[u8], place: &Place) {}

struct Place {
    city: String,
}

impl Place {
    /// Takes its type.
    #[tool]
    fn of_a_type(&self, days: u8) {}
}

/// Takes anything.
#[tool]
fn generic<T: Clone>(value: T, other: impl Clone) {}

/// Takes what has no name.
#[tool]
fn of_a_pattern((left, right): (u8, u8)) {}

/// Is not safe.
#[tool]
unsafe fn not_safe() {}

/// Is not a tool's name.
#[tool]
fn größe() {}

fn main() {}
