//! What servers, gateways and proxies do to a stream must not change what is read of it: the same changes to the same
//! small answer, in every dialect.

mod answer;
mod changes;
mod ends;
mod halves;
mod indices;
mod limits;
mod stray;
mod think_tags;
mod usage;
