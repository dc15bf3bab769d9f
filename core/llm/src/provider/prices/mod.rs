//! The cost of models: the vendors' prices as a table, the app's own prices, and the cost of an answer.

mod billed;
mod table;

use super::dialect::Dialect;
use super::vendors::vendor_and_model;
use crate::Usd;
use crate::event::TokenUsage;
use serde::{Deserialize, Serialize};

/// The price of a model, in US dollars for a million tokens.
///
/// The table has the vendors' list prices for text. An [endpoint](super::Provider::endpoint) has that of its model from
/// the beginning, in [`Quirks::price`](super::Quirks::price), and a journal with it: what a turn cost does not change
/// with the table. An app that pays another price, or runs the model itself, puts its own there, or gives it with its
/// providers in a [`Catalog`](super::Catalog).
///
/// ```
/// use stepwell_llm::provider::ModelPrice;
///
/// let mut price = ModelPrice::new("0.28".parse()?, "0.42".parse()?);
/// price.cached_input = Some("0.028".parse()?);
/// assert_eq!(serde_json::to_string(&price)?, r#"{"input":0.28,"output":0.42,"cached_input":0.028}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct ModelPrice {
    /// Tokens of the request.
    pub input: Usd,
    /// Tokens of the answer, with those of reasoning.
    pub output: Usd,
    /// The price of request tokens read from a cache; that of the others if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<Usd>,
    /// Tokens of the request that were written to a cache; as the others if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_input: Option<Usd>,
    /// The prices of long requests, where they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_context: Option<LongContextPrice>,
}

/// The price of a request that is longer than a given number of tokens, and of its answer. It applies to all their
/// tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct LongContextPrice {
    /// The number of tokens above which a request is long, including cached tokens.
    pub above: u64,
    /// Tokens of the request.
    pub input: Usd,
    /// Tokens of the answer, with those of reasoning.
    pub output: Usd,
    /// The price of request tokens read from a cache; that of the others if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<Usd>,
    /// Tokens of the request that were written to a cache; as the others if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_input: Option<Usd>,
}

/// The cost of a turn is limited, but the price of its model is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`max_cost` cannot be kept: no price is known for the model `{model}` of {provider}; give its price, or leave out \
     `max_cost`"
)]
pub struct UnknownPrice {
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
}

/// Returns the list price of a model in any version, if the table has it. The price of another model of the family is
/// not used, since a wrong price is worse than none.
#[must_use]
pub fn model_price(provider: &str, model: &str) -> Option<ModelPrice> {
    let (provider, model) = vendor_and_model(provider, model);
    let (_, models) = table::PRICES.iter().find(|(name, _)| *name == provider)?;
    let models = models.iter().filter(|row| is_version_of(model, row.0));
    let row = models.max_by_key(|row| row.0.len())?;
    Some(ModelPrice::of_row(row))
}

/// Returns all entries of the table: the provider, the model, and its price.
pub fn model_prices() -> impl Iterator<Item = (&'static str, &'static str, ModelPrice)> {
    table::PRICES.iter().flat_map(|(provider, models)| {
        let priced = |row: &'static Row| (*provider, row.0, ModelPrice::of_row(row));
        models.iter().map(priced)
    })
}

/// The price among the app's own that the model has: of several, that with the longest beginning of its name.
pub(super) fn own(prices: &[(String, ModelPrice)], model: &str) -> Option<ModelPrice> {
    let own = prices.iter().filter(|(name, _)| model.starts_with(name));
    own.max_by_key(|(name, _)| name.len())
        .map(|(_, price)| *price)
}

/// Returns whether the name is the model's own, optionally followed by a date, a number with three digits or more, or a
/// word for its release stage.
fn is_version_of(name: &str, model: &str) -> bool {
    let rest = match (name.get(..model.len()), name.get(model.len()..)) {
        (Some(start), Some(rest)) if start.eq_ignore_ascii_case(model) => rest,
        _ => return false,
    };
    let mut parts = rest.split(['-', '@']);
    let is_apart = parts.next().is_some_and(str::is_empty);
    let is_version = |(at, part): (usize, &str)| match part {
        "latest" | "preview" | "exp" | "default" => true,
        // A date may continue with fewer digits.
        digits => {
            (at > 0 || digits.len() > 2) && digits.bytes().all(|digit| digit.is_ascii_digit())
        }
    };
    is_apart && parts.enumerate().all(is_version)
}

/// Returns the price of tokens that are written to a cache for an hour, given that of a cache for five minutes: Anthropic
/// takes twice the price of the others.
///
/// Source: <https://platform.claude.com/docs/en/about-claude/pricing>.
fn for_an_hour(input: Usd, written: Option<Usd>) -> Usd {
    match written {
        Some(_) => Usd::from_nanos(input.nanos().saturating_mul(2)),
        None => input,
    }
}

/// The model's name; what a million tokens cost of the request, from a cache, into a cache and of the answer, in
/// millionths of a dollar; and from how many tokens on they cost what instead.
type Row = (&'static str, [u32; 4], Option<(u32, [u32; 4])>);

impl ModelPrice {
    /// Creates a price that is the same for cached and for long requests.
    #[must_use]
    pub const fn new(input: Usd, output: Usd) -> Self {
        Self {
            input,
            output,
            cached_input: None,
            cache_write_input: None,
            long_context: None,
        }
    }

    fn of_row((_, usual, long): &Row) -> Self {
        let usd = |micros: u32| Usd::from_nanos(u64::from(micros) * 1_000);
        let [input, cached, written, output] = usual.map(usd);
        let apart = |price: Usd, input: Usd| (price != input).then_some(price);
        Self {
            input,
            output,
            cached_input: apart(cached, input),
            cache_write_input: apart(written, input),
            long_context: long.map(|(above, long)| {
                let [input, cached, written, output] = long.map(usd);
                LongContextPrice {
                    above: u64::from(above),
                    input,
                    output,
                    cached_input: apart(cached, input),
                    cache_write_input: apart(written, input),
                }
            }),
        }
    }

    /// Returns the cost of one answer, whose tokens a provider of this dialect counted; `None` if it counted none.
    #[must_use]
    pub fn cost(&self, dialect: Dialect, usage: &TokenUsage) -> Option<Usd> {
        let billed = dialect.billed_tokens(usage)?;
        let usual = [
            self.input,
            self.cached_input.unwrap_or(self.input),
            self.cache_write_input.unwrap_or(self.input),
            for_an_hour(self.input, self.cache_write_input),
            self.output,
        ];
        let long = self
            .long_context
            .filter(|long| billed.request() > long.above);
        let prices = long.map_or(usual, |long| {
            [
                long.input,
                long.cached_input.unwrap_or(long.input),
                long.cache_write_input.unwrap_or(long.input),
                for_an_hour(long.input, long.cache_write_input),
                long.output,
            ]
        });
        Some(billed.cost(prices))
    }
}

#[cfg(test)]
mod tests;
