//! Mistral's dialect, through its public API: requests of its own, and streams that are Chat Completions'.

mod request;
mod stream;
