//! Waits that providers write out: `36.5s`, `7m12s`, `20 seconds`.

use std::time::Duration;

/// The phrases before a wait in the providers' messages.
const BEFORE: [&str; 6] = [
    "try again in ",
    "try again after ",
    "retry in ",
    "retry after ",
    "wait for ",
    "reset in ",
];

/// A week: anything longer is not a wait.
const MAX_SECONDS: f64 = 7.0 * 86_400.0;

/// Returns the wait that a sentence asks for: Groq's and OpenAI's "Please try again in 7.66s.", Azure's "retry after 20
/// seconds".
pub(super) fn in_words(message: &str) -> Option<Duration> {
    let message = message.to_ascii_lowercase();
    BEFORE.iter().find_map(|before| {
        let at = message.find(before)? + before.len();
        read(&message[at..])
    })
}

/// Numbers with units, one after the other, at the beginning of a text.
pub(super) fn read(text: &str) -> Option<Duration> {
    let mut rest = text.trim_start();
    let mut total = None;
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, after) = rest.split_at(digits.unwrap_or(rest.len()));
        let Ok(number) = number.trim_end_matches('.').parse::<f64>() else {
            break;
        };
        let after = after.trim_start();
        let letters = after.find(|c: char| !c.is_ascii_alphabetic());
        let (unit, after) = after.split_at(letters.unwrap_or(after.len()));
        let factor = match unit {
            "ms" | "millisecond" | "milliseconds" => 0.001,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86_400.0,
            _ => break,
        };
        total = Some(total.unwrap_or(0.0) + number * factor);
        rest = after;
    }
    seconds(total?)
}

/// Whole milliseconds, rounded up.
pub(super) fn seconds(seconds: f64) -> Option<Duration> {
    if !(0.0..=MAX_SECONDS).contains(&seconds) {
        return None;
    }
    let exact = Duration::try_from_secs_f64(seconds).ok()?;
    let millis = exact.as_nanos().div_ceil(1_000_000);
    Some(Duration::from_millis(u64::try_from(millis).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_read_in_every_spelling() {
        for (text, millis) in [
            ("Please try again in 7.66s. Visit x", Some(7_660)),
            ("Please try again in 6m0s.", Some(360_000)),
            ("try again in 1h2m3.5s", Some(3_723_500)),
            ("Try again in 12ms", Some(12)),
            ("Please retry after 20 seconds.", Some(20_000)),
            ("Please retry in 36.818507872s.", Some(36_819)),
            ("Please try again in 20s.", Some(20_000)),
            ("Please try again in a moment", None),
            ("Please try again later", None),
            ("try again in 99999999999999h", None),
            ("try again in 5", None),
            ("", None),
        ] {
            let expected = millis.map(Duration::from_millis);
            assert_eq!(in_words(text), expected, "{text}");
        }
    }
}
