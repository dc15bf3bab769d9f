//! The WHATWG algorithm written down a second time, over the whole body at once, as plainly as can be.

use super::support::{Owned, cut, mad_body, places, read, receive, sse};
use crate::cases::cases;
use proptest::prelude::*;
use std::time::Duration;
use stepwell_core::wire::Framer;

#[derive(Debug, Default, PartialEq)]
struct Stream {
    frames: Vec<Owned>,
    last_event_id: Vec<u8>,
    retry: Option<Duration>,
}

/// Section 9.2.6, but for bytes instead of characters. With `ended`, what is left at the end is read as if its line end
/// and blank line had come, as `finish` does; without, it is left alone.
fn interpret(body: &[u8], ended: bool) -> Stream {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);

    let mut lines = vec![Vec::new()];
    let mut at = 0;
    while at < body.len() {
        if body[at] == b'\r' && body.get(at + 1) == Some(&b'\n') {
            at += 1;
        }
        if body[at] == b'\r' || body[at] == b'\n' {
            lines.push(Vec::new());
        } else {
            lines.last_mut().unwrap().push(body[at]);
        }
        at += 1;
    }
    let rest = lines.pop().unwrap();
    if ended {
        if !rest.is_empty() {
            lines.push(rest);
        }
        lines.push(Vec::new());
    }

    let mut stream = Stream::default();
    let (mut data, mut event, mut id) = (Vec::new(), Vec::new(), Vec::new());
    for line in lines {
        if line.is_empty() {
            stream.last_event_id.clone_from(&id);
            let (mut data, event) = (std::mem::take(&mut data), std::mem::take(&mut event));
            if data.pop().is_some() {
                stream.frames.push(Owned {
                    event,
                    data,
                    id: id.clone(),
                    is_failure: false,
                });
            }
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = match colon {
            Some(0) => continue,
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (&line[..], &b""[..]),
        };
        let value = match value.first() {
            Some(b' ') => &value[1..],
            _ => value,
        };
        match name {
            b"event" => event = value.to_vec(),
            b"data" => data.extend(value.iter().chain(b"\n")),
            b"id" if !value.contains(&0) => id = value.to_vec(),
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let digits = std::str::from_utf8(value).unwrap();
                let number = digits.parse().unwrap_or(u64::MAX);
                stream.retry = Some(Duration::from_millis(number));
            }
            _ => {}
        }
    }
    stream
}

proptest! {
    #![proptest_config(cases(1_024))]

    #[test]
    fn i03_agrees_with_the_reference(body in mad_body(), places in places(), ended in any::<bool>()) {
        let chunks = cut(&body, &places);
        let seen = if ended { read(sse(), chunks) } else { receive(sse(), chunks) };
        prop_assert_eq!(&seen.outcome, &Ok(()));
        let Framer::Sse(framer) = &seen.framer else { unreachable!() };
        let stream = Stream {
            last_event_id: framer.last_event_id().to_vec(),
            retry: framer.retry(),
            frames: seen.frames,
        };
        prop_assert_eq!(stream, interpret(&body, ended));
    }
}
