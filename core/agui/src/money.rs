//! Amounts of money, for the cost of a model's answers.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

const NANOS: u64 = 1_000_000_000;
const DIGITS: usize = 9;

/// An amount of US dollars, counted in whole billionths (nano-dollars), so that sums are exact.
///
/// In JSON an amount is a number of dollars: `0.0125`. As text it is the same number, with or without a `$` before it.
///
/// ```
/// use stepwell_agui::Usd;
///
/// let price: Usd = "0.10".parse()?;
/// let three = price.saturating_add(price).saturating_add(price);
/// assert_eq!(three, "$0.3".parse()?);
/// assert_eq!(three.to_string(), "$0.30");
/// # Ok::<(), stepwell_agui::NotUsd>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Usd(u64);

/// The value is not an amount of money, which is a number of US dollars from 0 to about 18 billion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an amount of US dollars: give a number that is not negative, such as 0.25")]
pub struct NotUsd;

impl Usd {
    /// Zero dollars.
    pub const ZERO: Self = Self(0);

    /// Creates an amount of billionths of a dollar.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Returns the amount in billionths of a dollar.
    #[must_use]
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Creates an amount of dollars, rounded to the nearest billionth.
    ///
    /// # Errors
    /// The number is negative, not finite or too large.
    pub fn from_dollars(dollars: f64) -> Result<Self, NotUsd> {
        let nanos = (dollars * 1e9).round();
        // The bound is a power of two, which a float has exactly.
        if !(0.0..18_446_744_073_709_551_616.0).contains(&nanos) {
            return Err(NotUsd);
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it was just looked at"
        )]
        Ok(Self(nanos as u64))
    }

    /// Returns the nearest number of dollars. Up to a million dollars, [`from_dollars`](Self::from_dollars) returns the
    /// same amount.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a float is what was asked for")]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns the sum, or the largest amount if the sum is too large.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns the difference, or zero if `other` is larger.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = format!("{:09}", self.0 % NANOS);
        let digits = fraction.trim_end_matches('0');
        write!(f, "${}.{digits:0<2}", self.0 / NANOS)
    }
}

impl FromStr for Usd {
    type Err = NotUsd;

    fn from_str(text: &str) -> Result<Self, NotUsd> {
        let text = text.trim();
        let text = text.strip_prefix('$').unwrap_or(text);
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let is_number = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
        if (whole.is_empty() && fraction.is_empty())
            || fraction.len() > DIGITS
            || !is_number(whole)
            || !is_number(fraction)
        {
            return Err(NotUsd);
        }
        let number = |digits: &str| match digits {
            "" => Ok(0),
            digits => digits.parse::<u64>().map_err(|_| NotUsd),
        };
        let dollars = number(whole)?.checked_mul(NANOS).ok_or(NotUsd)?;
        let nanos = number(&format!("{fraction:0<DIGITS$}"))?;
        dollars.checked_add(nanos).map(Self).ok_or(NotUsd)
    }
}

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.dollars())
    }
}

impl<'de> Deserialize<'de> for Usd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        Self::from_dollars(dollars).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_amount_is_written_with_cents_and_as_much_more_as_there_is() {
        for (nanos, text) in [
            (0, "$0.00"),
            (1, "$0.000000001"),
            (1_500_000_000, "$1.50"),
            (2_000_000_000, "$2.00"),
            (12_345_678, "$0.012345678"),
        ] {
            assert_eq!(Usd::from_nanos(nanos).to_string(), text);
        }
    }

    #[test]
    fn what_is_no_amount_is_said_so() {
        for text in [
            "",
            "$",
            ".",
            "-1",
            "1e3",
            "1,5",
            "0.0000000001",
            "nan",
            "99999999999999999999",
        ] {
            assert_eq!(text.parse::<Usd>(), Err(NotUsd), "{text}");
        }
        for dollars in [-0.01, f64::NAN, f64::INFINITY, 1e11] {
            assert_eq!(Usd::from_dollars(dollars), Err(NotUsd), "{dollars}");
        }
    }

    proptest! {
        /// As text always, in JSON as far as a float has every billionth.
        #[test]
        fn an_amount_is_read_back_as_it_was_written(nanos in 0..1_000_000_000_000_000_u64, any in any::<u64>()) {
            let (amount, any) = (Usd::from_nanos(nanos), Usd::from_nanos(any));
            prop_assert_eq!(any.to_string().parse(), Ok(any));
            let json = serde_json::to_string(&amount).expect("a number");
            prop_assert_eq!(serde_json::from_str::<Usd>(&json).expect("an amount"), amount);
        }
    }
}
