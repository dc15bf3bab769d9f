//! The expiry of questions to the user.

use super::outcome::Interrupt;
use crate::Timestamp;

impl Interrupt {
    /// Returns whether the question has expired. An expired question may be cancelled but not answered. A question
    /// whose time cannot be parsed never expires.
    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        let expires_at = self.expires_at.as_deref();
        expires_at.is_some_and(|time| has_come(time, now))
    }
}

/// Returns whether a time has come. A time that cannot be parsed never does.
pub fn has_come(time: &str, now: Timestamp) -> bool {
    milliseconds(time).is_some_and(|time| time <= i128::from(now.0))
}

/// An ISO 8601 time in the form of RFC 3339 (a space may stand for the `T`, as may a lower-case `t`), as milliseconds
/// since the epoch.
fn milliseconds(text: &str) -> Option<i128> {
    let (date, time) = text.split_at_checked(10)?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let time = time.strip_prefix(['T', 't', ' '])?;
    let zone = time.find(['Z', 'z', '+', '-'])?;
    let (time, zone) = time.split_at(zone);
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
    let is_number = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let milliseconds: i128 = is_number
        .then(|| format!("{fraction:0<3}"))
        .and_then(|digits| digits.get(..3)?.parse().ok())?;
    let offset = match zone.split_at_checked(1)? {
        ("Z" | "z", "") => 0,
        (sign, offset) => {
            let [hours, minutes] = numbers(offset, ':', [2, 2])?;
            let minutes = hours * 60 + minutes;
            if sign == "-" { -minutes } else { minutes }
        }
    };
    let is_real = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        // A leap second counts as the next one.
        && second <= 60;
    is_real.then(|| {
        let minutes = days(year, month, day) * 1440 + hour * 60 + minute - offset;
        (minutes * 60 + second) * 1000 + milliseconds
    })
}

/// Reads the fields of a date or a time, each with the number of digits in `digits`.
fn numbers<const N: usize>(text: &str, separator: char, digits: [usize; N]) -> Option<[i128; N]> {
    let mut fields = text.split(separator);
    let mut numbers = [0; N];
    for (number, digits) in numbers.iter_mut().zip(digits) {
        let field = fields.next()?;
        let fits = field.len() == digits && field.bytes().all(|byte| byte.is_ascii_digit());
        *number = fits.then(|| field.parse().ok()).flatten()?;
    }
    fields.next().is_none().then_some(numbers)
}

/// The days from 1970-01-01 to a date of the Gregorian calendar, counted in years that begin with March.
fn days(year: i128, month: i128, day: i128) -> i128 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expiring(at: &str) -> Interrupt {
        Interrupt {
            expires_at: Some(at.to_owned()),
            ..Interrupt::default()
        }
    }

    #[test]
    fn times_are_read_as_rfc_3339_has_them() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01T00:00:00.5Z", 500),
            ("1970-01-01T01:00:00+01:00", 0),
            ("1969-12-31T19:00:00.000-05:00", 0),
            ("2000-02-29T12:34:56.789Z", 951_827_696_789),
            ("2000-03-01 00:00:00z", 951_868_800_000),
            ("2100-03-01t00:00:00.1234567Z", 4_107_542_400_123),
            ("1900-01-01T00:00:00Z", -2_208_988_800_000),
        ] {
            assert_eq!(milliseconds(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_never_lapses() {
        for text in [
            "",
            "soon",
            "2000-01-01",
            "2000-01-01T00:00:00",
            "2000-13-01T00:00:00Z",
            "2000-01-01T24:00:00Z",
            "2000-01-01T00:00:00.Z",
            "2000-01-01T00:00:00+0100",
            "200é-01-01T00:00:00Z",
            "2000-01-01T00:00:00é",
            "+200-01-01T00:00:00Z",
        ] {
            assert_eq!(milliseconds(text), None, "{text}");
            assert!(!expiring(text).is_expired(Timestamp(u64::MAX)), "{text}");
        }
        assert!(!Interrupt::default().is_expired(Timestamp(u64::MAX)));
    }

    #[test]
    fn a_question_lapses_at_its_time() {
        let interrupt = expiring("1970-01-01T00:00:01Z");
        assert!(!interrupt.is_expired(Timestamp(999)));
        assert!(interrupt.is_expired(Timestamp(1000)));
    }
}
