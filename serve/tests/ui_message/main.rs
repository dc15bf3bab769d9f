//! Chats of the AI SDK: their requests, and the parts of their streams.

mod parts;
mod requests;
