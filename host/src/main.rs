//! The Stepwell program.
fn main() {}
