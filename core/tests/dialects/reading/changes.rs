//! Changes to the frames that change nothing.

use super::answer::{Answer, Read, body, read, read_in};
use proptest::prelude::*;
use stepwell_core::dialect::Dialect;
use stepwell_core::pipeline::StreamEnd;

/// The places behind the braces of a frame's first two levels: deeper ones may be the tools' own.
fn objects(frame: &str) -> Vec<usize> {
    let mut places = Vec::new();
    let (mut depth, mut in_string, mut escaped) = (0, false, false);
    for (at, byte) in frame.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                if byte == b'{' && depth <= 2 {
                    places.push(at + 1);
                }
            }
            b'}' | b']' if !in_string => depth -= 1,
            _ => {}
        }
    }
    places
}

/// The key that stands at a place, with its quotes.
fn key(frame: &str, place: usize) -> Option<&str> {
    let rest = frame[place..].strip_prefix('"')?;
    Some(&frame[place..place + 2 + rest.find('"')?])
}

/// The frames with something put in at the places of some of their objects.
fn put_in(
    frames: &[String],
    which: &[bool],
    more: impl Fn(&str, usize) -> Option<String>,
) -> Vec<String> {
    let mut which = which.iter().cycle();
    let change = |frame: &String| {
        let mut changed = frame.clone();
        for place in objects(frame).into_iter().rev() {
            if *which.next().unwrap_or(&true)
                && let Some(more) = more(frame, place)
            {
                let comma = if frame[place..].starts_with('}') {
                    ""
                } else {
                    ","
                };
                changed.insert_str(place, &format!("{more}{comma}"));
            }
        }
        changed
    };
    frames.iter().map(change).collect()
}

fn plain(dialect: Dialect) -> (Vec<String>, Read) {
    let frames = Answer::small().frames(dialect);
    let read = read(dialect, &frames);
    (frames, read)
}

#[test]
fn what_is_not_read_may_be_as_deep_as_it_likes() {
    let deep = format!("\"deep\":{}{}", "[".repeat(500), "]".repeat(500));
    // An agent's events are read whole.
    let providers = Dialect::ALL
        .into_iter()
        .filter(|dialect| *dialect != Dialect::AgUi);
    for dialect in providers {
        let (frames, plain) = plain(dialect);
        let changed = put_in(&frames, &[], |_, place| (place == 1).then(|| deep.clone()));
        assert_eq!(read(dialect, &changed), plain, "{dialect:?}");
    }
}

proptest! {
    #[test]
    fn numbers_that_are_none_beside_what_is_read(
        dialect in prop::sample::select(Dialect::ALL.to_vec()),
        word in prop::sample::select(vec!["NaN", "Infinity", "-Infinity"]),
        which in prop::collection::vec(any::<bool>(), 1..20),
        size in 1..400_usize,
    ) {
        let (frames, plain) = plain(dialect);
        let changed = put_in(&frames, &which, |_, _| Some(format!(r#""logprobs":[{{"p":{word}}}]"#)));
        prop_assert_eq!(read_in(dialect, &body(dialect, &changed), size).0, plain);
    }

    #[test]
    fn keys_that_come_twice(
        dialect in prop::sample::select(Dialect::ALL.to_vec()),
        value in prop::sample::select(vec!["null", "{}", "\"other\"", "1", "[]"]),
        which in prop::collection::vec(any::<bool>(), 1..20),
        size in 1..400_usize,
    ) {
        let (frames, plain) = plain(dialect);
        let changed = put_in(&frames, &which, |frame, place| Some(format!("{}:{value}", key(frame, place)?)));
        prop_assert_eq!(read_in(dialect, &body(dialect, &changed), size).0, plain);
    }

    #[test]
    fn indices_however_they_are_written(
        dialect in prop::sample::select(Dialect::ALL.to_vec()),
        form in prop::sample::select(vec!["N.0", "Ne0", "N.0E+0", "\"N\"", " N "]),
        which in prop::collection::vec(any::<bool>(), 1..20),
    ) {
        let (frames, plain) = plain(dialect);
        let mut which = which.iter().cycle();
        let change = |frame: &String| {
            let mut changed = frame.clone();
            for name in ["index", "output_index", "content_index", "summary_index"] {
                for number in 0..8 {
                    if *which.next().unwrap_or(&true) {
                        let form = form.replace('N', &number.to_string());
                        changed = changed.replace(&format!("\"{name}\":{number}"), &format!("\"{name}\":{form}"));
                    }
                }
            }
            changed
        };
        let changed: Vec<_> = frames.iter().map(change).collect();
        prop_assert_eq!(read(dialect, &changed), plain);
    }

    /// Whatever is cut off: what the stream says of its end is true.
    #[test]
    fn done_after_a_cut_is_no_success(
        dialect in prop::sample::select(Dialect::ALL[1..].to_vec()),
        at in any::<prop::sample::Index>(),
    ) {
        let (mut frames, plain) = plain(dialect);
        frames.truncate(at.index(frames.len()));
        frames.push("[DONE]".to_owned());
        let cut = read(dialect, &frames);
        if let Some(failure) = cut.failure {
            prop_assert_eq!(failure, "the stream ended, and there was no answer in it");
            return Ok(());
        }
        if cut.end == Ok(StreamEnd::Finished) {
            for (cut, plain) in cut.calls.iter().zip(&plain.calls) {
                prop_assert_eq!(cut, plain, "a call that was cut off");
            }
        } else {
            prop_assert_eq!(cut.end, Ok(StreamEnd::Truncated));
        }
    }

    /// Wherever it comes, an error of anybody's ends the stream as one.
    #[test]
    fn an_error_of_anybody_is_one(
        dialect in prop::sample::select(Dialect::ALL.to_vec()),
        at in any::<prop::sample::Index>(),
        error in prop::sample::select(vec![
            r#"{"code":500,"message":"Oh no"}"#,
            r#"{"error":{"message":"Oh no","type":"server_error"}}"#,
            r#"{"error":{"code":503,"message":"Oh no","status":"UNAVAILABLE"}}"#,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Oh no"}}"#,
            r#"{"object":"error","message":"Oh no","code":400}"#,
            r#"{"error":"Oh no"}"#,
        ]),
    ) {
        let (mut frames, _) = plain(dialect);
        // An agent's run has to begin before it fails.
        let first = usize::from(dialect == Dialect::AgUi);
        frames.insert(first + at.index(frames.len() - first), error.to_owned());
        let read = read(dialect, &frames);
        prop_assert_eq!(read.failure.as_deref(), Some("Oh no"));
        // What comes behind it breaks an agent's protocol, and is not read of the others.
        if dialect != Dialect::AgUi {
            prop_assert_eq!(read.end, Ok(StreamEnd::Errored));
        }
    }
}

#[test]
fn done_after_the_end_is_not_read() {
    // An agent is held to the protocol, which has no such thing.
    for dialect in Dialect::ALL.into_iter().skip(1) {
        let (mut frames, plain) = plain(dialect);
        frames.push("[DONE]".to_owned());
        assert_eq!(read(dialect, &frames), plain, "{dialect:?}");
        assert_eq!(plain.end, Ok(StreamEnd::Finished));
    }
}
