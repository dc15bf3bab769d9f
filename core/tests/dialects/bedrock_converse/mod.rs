//! Amazon Bedrock's Converse.

mod request;
mod stream;
