//! A first Stepwell program.
fn main() {}
