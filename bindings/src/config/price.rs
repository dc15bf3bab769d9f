//! What a model costs, in US dollars.

use crate::error::StepwellError;
use serde::Deserialize;
use stepwell_core::{Usd, provider};

/// What a model costs: US dollars for a million tokens.
#[derive(Clone, Debug, PartialEq, Deserialize, uniffi::Record)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelPrice {
    /// Tokens of the request.
    pub input: f64,
    /// Tokens of the answer, with those of reasoning.
    pub output: f64,
    /// Tokens of the request that came from a cache; as the others if absent.
    #[uniffi(default = None)]
    pub cached_input: Option<f64>,
    /// Tokens of the request that were written to a cache; as the others if absent.
    #[uniffi(default = None)]
    pub cache_write_input: Option<f64>,
    /// The prices of long requests, where they differ.
    #[uniffi(default = None)]
    pub long_context: Option<LongContextPrice>,
}

/// What a request costs in all its tokens, and its answer, if it is longer than so many tokens.
#[derive(Clone, Debug, PartialEq, Deserialize, uniffi::Record)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LongContextPrice {
    /// The most tokens of a request that is not long, cached ones with them.
    pub above: u64,
    /// Tokens of the request.
    pub input: f64,
    /// Tokens of the answer, with those of reasoning.
    pub output: f64,
    /// Tokens of the request that came from a cache; as the others if absent.
    #[uniffi(default = None)]
    pub cached_input: Option<f64>,
    /// Tokens of the request that were written to a cache; as the others if absent.
    #[uniffi(default = None)]
    pub cache_write_input: Option<f64>,
}

/// The list price of a model, if Stepwell's table of prices has it.
#[uniffi::export]
pub fn model_price(provider: &str, model: &str) -> Option<ModelPrice> {
    provider::model_price(provider, model).map(Into::into)
}

impl From<provider::ModelPrice> for ModelPrice {
    fn from(price: provider::ModelPrice) -> Self {
        Self {
            input: price.input.dollars(),
            output: price.output.dollars(),
            cached_input: price.cached_input.map(Usd::dollars),
            cache_write_input: price.cache_write_input.map(Usd::dollars),
            long_context: price.long_context.map(|long| LongContextPrice {
                above: long.above,
                input: long.input.dollars(),
                output: long.output.dollars(),
                cached_input: long.cached_input.map(Usd::dollars),
                cache_write_input: long.cache_write_input.map(Usd::dollars),
            }),
        }
    }
}

impl ModelPrice {
    pub(super) fn into_core(self) -> Result<provider::ModelPrice, StepwellError> {
        let mut price = provider::ModelPrice::new(
            usd("price.input", self.input)?,
            usd("price.output", self.output)?,
        );
        price.cached_input = dollars("price.cached_input", self.cached_input)?;
        price.cache_write_input = dollars("price.cache_write_input", self.cache_write_input)?;
        price.long_context = match self.long_context {
            None => None,
            Some(long) => Some(provider::LongContextPrice {
                above: long.above,
                input: usd("price.long_context.input", long.input)?,
                output: usd("price.long_context.output", long.output)?,
                cached_input: dollars("price.long_context.cached_input", long.cached_input)?,
                cache_write_input: dollars(
                    "price.long_context.cache_write_input",
                    long.cache_write_input,
                )?,
            }),
        };
        Ok(price)
    }
}

/// An amount that the app may have given under this name.
pub(super) fn dollars(name: &str, amount: Option<f64>) -> Result<Option<Usd>, StepwellError> {
    amount.map(|amount| usd(name, amount)).transpose()
}

fn usd(name: &str, amount: f64) -> Result<Usd, StepwellError> {
    Usd::from_dollars(amount).map_err(|error| {
        let reason = format!("`{name}` is {amount}: {error}");
        StepwellError::configuration(&reason, "give an amount of US dollars")
    })
}
