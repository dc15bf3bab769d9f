//! conversation.
