//! What a model costs, in US dollars.

use crate::error::StepwellError;
use serde::Deserialize;
use stepwell_core::{Usd, provider};
use stepwell_mirror::mirror;

mirror! {
    /// The price of a model, in US dollars for a million tokens.
    #[derive(Clone, Debug, PartialEq, Deserialize, uniffi::Record)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    #[mirror(stepwell_llm::provider::ModelPrice)]
    pub struct ModelPrice {
        #[uniffi(default = None)]
        cached_input,
        #[uniffi(default = None)]
        cache_write_input,
        #[uniffi(default = None)]
        long_context,
    }

    #[derive(Clone, Debug, PartialEq, Deserialize, uniffi::Record)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    #[mirror(stepwell_llm::provider::LongContextPrice)]
    pub struct LongContextPrice {
        #[uniffi(default = None)]
        cached_input,
        #[uniffi(default = None)]
        cache_write_input,
    }
}

/// Returns the list price of a model, if Stepwell's table of prices has it.
#[uniffi::export]
pub fn model_price(provider: &str, model: &str) -> Option<ModelPrice> {
    provider::model_price(provider, model).map(Into::into)
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

/// Returns the amount that the app may have set under this name.
pub(super) fn dollars(name: &str, amount: Option<f64>) -> Result<Option<Usd>, StepwellError> {
    amount.map(|amount| usd(name, amount)).transpose()
}

fn usd(name: &str, amount: f64) -> Result<Usd, StepwellError> {
    Usd::from_dollars(amount).map_err(|error| {
        let reason = format!("`{name}` is {amount}: {error}");
        StepwellError::configuration(&reason, "give an amount of US dollars")
    })
}
