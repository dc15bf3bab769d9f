//! How the events of a run go over the wire: a variant for each way, with its media type and its frame.

use crate::request::refused::{Refused, RefusedReason};
use bytes::Bytes;
use http::{HeaderMap, header};
use std::io::Write;
use stepwell_core::event::{Event, protobuf};

/// The header with the id of the last event that a resuming client has:
/// <https://html.spec.whatwg.org/multipage/server-sent-events.html#the-last-event-id-header>.
pub const LAST_EVENT_ID: &str = "last-event-id";

/// A way of writing events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Server-sent events, each with one event as JSON.
    Sse,
    /// The protocol's binary form: protobuf messages, each behind its length. It has no place for ids and comments.
    Protobuf,
    /// The AI SDK's [UI message stream](https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol), of version 1: for runs of
    /// [`Format::UiMessages`](super::Format::UiMessages), whose entries are its frames.
    UiMessages,
}

impl Encoding {
    /// The encodings of AG-UI, the preferred one first.
    const ALL: [Self; 2] = [Self::Sse, Self::Protobuf];

    /// Returns the encoding that the client prefers (RFC 9110, section 12.5.1). Without an `Accept` header it is the
    /// first.
    ///
    /// # Errors
    /// The client accepts none of them.
    pub fn accepted(headers: &HeaderMap) -> Result<Self, Refused> {
        let mut wishes = Vec::new();
        for value in headers.get_all(header::ACCEPT) {
            let ranges = value.to_str().unwrap_or_default().split(',');
            wishes.extend(ranges.filter_map(wish));
        }
        if wishes.is_empty() {
            return Ok(Self::ALL[0]);
        }
        let liked = |encoding: Self| {
            let fits = |range: &str| covers(range, encoding.media_type());
            // The most precise range that covers it decides.
            let range = wishes.iter().filter(|(range, _)| fits(range));
            range
                .max_by_key(|(range, _)| (!range.ends_with('*'), range.len()))
                .map_or(0, |(_, quality)| *quality)
        };
        // Of equals the last is the maximum: the preferred one comes last.
        let best = Self::ALL
            .into_iter()
            .rev()
            .max_by_key(|&encoding| liked(encoding));
        best.filter(|&encoding| liked(encoding) > 0).ok_or_else(|| {
            let known = Self::ALL.map(Self::media_type).join(", ");
            let message = format!("the answer can be had as {known}: accept one of these");
            Refused::new(RefusedReason::NotAcceptable, message)
        })
    }

    /// The `Content-Type` of the answer.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Sse | Self::UiMessages => "text/event-stream",
            Self::Protobuf => protobuf::MEDIA_TYPE,
        }
    }

    /// The headers of the answer.
    #[must_use]
    pub fn headers(self) -> Vec<(&'static str, &'static str)> {
        let mut headers = vec![
            ("content-type", self.media_type()),
            ("cache-control", "no-cache"),
            // nginx would collect the events otherwise.
            ("x-accel-buffering", "no"),
        ];
        if self == Self::UiMessages {
            headers.push(("x-vercel-ai-ui-message-stream", "v1"));
        }
        headers
    }

    /// Writes one event, with an id after which a client can resume: the run and the event's place in it.
    pub fn write(self, run_id: &str, index: u64, json: &[u8], frames: &mut Vec<u8>) {
        match self {
            Self::Sse => {
                // A Vec takes all that is written.
                let _ = write!(frames, "id: {run_id}:{index}\ndata: ");
                frames.extend_from_slice(json);
                frames.extend_from_slice(b"\n\n");
            }
            Self::UiMessages => frames.extend_from_slice(json),
            Self::Protobuf => {
                if let Err(reason) = write_protobuf(json, frames) {
                    tracing::error!(target: "stepwell", reason, "an event cannot be written");
                }
            }
        }
    }

    /// Returns one event by itself, as [`write`](Self::write) writes it.
    pub(crate) fn frame(self, run_id: &str, index: u64, json: &[u8]) -> Bytes {
        let mut frame = Vec::with_capacity(json.len() + 64);
        self.write(run_id, index, json, &mut frame);
        frame.into()
    }

    /// Writes one event that a client cannot resume after.
    pub(crate) fn without_id(self, json: &str) -> Bytes {
        match self {
            Self::Sse | Self::UiMessages => format!("data: {json}\n\n").into(),
            Self::Protobuf => self.frame("", 0, json.as_bytes()),
        }
    }

    /// Returns one event that is no part of the run's log, and so has no id.
    pub fn notice(self, event: &Event) -> Bytes {
        let frame = match self {
            Self::Sse | Self::UiMessages => serde_json::to_string(event)
                .map(|json| format!("data: {json}\n\n").into_bytes())
                .map_err(|error| error.to_string()),
            Self::Protobuf => {
                let mut frame = Vec::new();
                let written = protobuf::encode_frame(event.into(), &mut frame);
                written.map(|_| frame).map_err(|error| error.to_string())
            }
        };
        frame.map(Bytes::from).unwrap_or_else(|reason| {
            tracing::error!(target: "stepwell", reason, "an event cannot be written");
            Bytes::new()
        })
    }

    /// Returns what is sent during a silence, so that no proxy takes the connection for a dead one.
    pub fn keep_alive(self) -> Option<Bytes> {
        match self {
            Self::Sse | Self::UiMessages => Some(Bytes::from_static(b": keep-alive\n\n")),
            Self::Protobuf => None,
        }
    }
}

fn write_protobuf(json: &[u8], frames: &mut Vec<u8>) -> Result<(), String> {
    let event: Event = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    protobuf::encode_frame((&event).into(), frames).map_err(|error| error.to_string())
}

/// A media range and how much it is wanted, in thousandths.
fn wish(text: &str) -> Option<(String, u32)> {
    let mut parts = text.split(';').map(str::trim);
    let range = parts.next()?.to_ascii_lowercase();
    let quality = parts.find_map(|part| part.strip_prefix("q="));
    let quality = quality.map_or(Some(1.0), |quality| quality.parse::<f32>().ok())?;
    // Three decimals are the header's precision.
    let thousandths = (quality.clamp(0.0, 1.0) * 1000.0) as u32;
    (!range.is_empty()).then_some((range, thousandths))
}

fn covers(range: &str, media_type: &str) -> bool {
    match range.strip_suffix('*') {
        Some("*/") => true,
        Some(prefix) => media_type.starts_with(prefix),
        None => range == media_type,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(value: &'static str) -> Option<Encoding> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, value.parse().expect("a header"));
        Encoding::accepted(&headers).ok()
    }

    #[test]
    fn a_client_gets_the_encoding_that_it_accepts() {
        for value in [
            "text/event-stream",
            "*/*",
            "text/*",
            "application/json, Text/Event-Stream;q=0.5",
            "application/json, */*;q=0.1",
            "",
        ] {
            assert_eq!(accepted(value), Some(Encoding::Sse), "{value}");
        }
        for value in [
            "application/json",
            "text/html, application/xml",
            "text/event-stream;q=0",
        ] {
            assert_eq!(accepted(value), None, "{value}");
        }
        for value in [
            "application/vnd.ag-ui.event+proto",
            "text/event-stream;q=0.5, application/vnd.ag-ui.event+proto",
            "*/*, text/event-stream;q=0",
        ] {
            assert_eq!(accepted(value), Some(Encoding::Protobuf), "{value}");
        }
        let both = "application/vnd.ag-ui.event+proto, text/event-stream";
        assert_eq!(accepted(both), Some(Encoding::Sse));
        assert!(Encoding::accepted(&HeaderMap::new()).is_ok());
    }
}
