//! The response body for a reader of a turn of a thread.

use super::follow::{Follow, Followed};
use crate::wire::Encoding;
use bytes::Bytes;
use futures::{Stream, stream};
use std::borrow::Cow;
use stepwell_core::dialect::ClientVersion;
use stepwell_core::event::Event;

impl Follow {
    /// Returns the frames of an HTTP body, for a client that speaks this version of the protocol.
    pub fn frames(self, encoding: Encoding, version: ClientVersion) -> impl Stream<Item = Bytes> {
        stream::unfold(self, move |mut follow| async move {
            let frame = loop {
                let frame = match follow.next().await? {
                    Followed::Event(event) => {
                        let turn = follow.key().turn.clone();
                        let adapted = adapted(&event.data, version);
                        adapted.map(|json| encoding.frame(&turn, event.index, json.as_bytes()))
                    }
                    Followed::Notice(event) => Some(encoding.notice(&event)),
                    Followed::Silence => encoding.keep_alive(),
                };
                // The client's version may have no place for it.
                if let Some(frame) = frame {
                    break frame;
                }
            };
            Some((frame, follow))
        })
    }
}

/// An event as a client of this version takes it. What is logged is of 1.0.
pub(super) fn adapted(json: &str, version: ClientVersion) -> Option<Cow<'_, str>> {
    if version != ClientVersion::Before1_0 {
        return Some(Cow::Borrowed(json));
    }
    let Ok(event) = serde_json::from_str::<Event>(json) else {
        return Some(Cow::Borrowed(json));
    };
    Some(match version.adapt(&event)? {
        Cow::Borrowed(_) => Cow::Borrowed(json),
        Cow::Owned(event) => Cow::Owned(serde_json::to_string(&event).ok()?),
    })
}
