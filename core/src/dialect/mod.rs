//! dialect.
