//! Mistral's dialect, through its public face: requests of its own, and streams that are Chat Completions'.

#[path = "../support/chat.rs"]
mod chat;
#[path = "../support/encode.rs"]
mod encode;

mod request;
mod stream;
