//! Stepwell IO.
#![forbid(unsafe_code)]
