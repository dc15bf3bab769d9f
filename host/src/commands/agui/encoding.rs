use clap::ValueEnum;
use serde::Serialize;
use stepwell_core::event::protobuf;

/// The encoding of the events of an AG-UI stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(in crate::commands) enum Encoding {
    /// Server-sent events.
    Sse,
    /// One JSON text a line.
    JsonLines,
    /// Binary frames.
    Protobuf,
}

impl Encoding {
    /// Guesses the encoding of a body: a binary frame begins with its length, whose first byte is 0.
    pub(in crate::commands) fn of(body: &[u8]) -> Self {
        let text = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
        match (body.first(), text.trim_ascii_start().first()) {
            (Some(0), _) => Self::Protobuf,
            (_, Some(b'{' | b'[')) => Self::JsonLines,
            _ => Self::Sse,
        }
    }

    pub(in crate::commands) fn media_type(self) -> &'static str {
        match self {
            Self::Sse => "text/event-stream",
            Self::JsonLines => "application/x-ndjson",
            Self::Protobuf => protobuf::MEDIA_TYPE,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sse => "server-sent events",
            Self::JsonLines => "JSON lines",
            Self::Protobuf => "protobuf",
        }
    }
}
