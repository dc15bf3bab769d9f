use crate::settings::ModelSettings;
use stepwell_core::dialect::{Endpoint, Secret};
use stepwell_core::provider::EndpointError;
use stepwell_demo::{Failure, Format, catalog};

/// Returns the endpoints of the models that are asked when the one of the settings has failed.
pub(crate) fn fallback(settings: &ModelSettings) -> Result<Vec<Endpoint>, Failure> {
    named(settings, &settings.fallback)
}

/// Returns the endpoints of models that are named as PROVIDER/MODEL, besides the one of the settings.
pub(crate) fn named(settings: &ModelSettings, names: &[String]) -> Result<Vec<Endpoint>, Failure> {
    let endpoints = names.iter().map(|name| {
        let (provider, model) = name
            .split_once('/')
            .filter(|(provider, model)| !provider.is_empty() && !model.is_empty())
            .ok_or_else(|| {
                Failure::usage(format!("`{name}` is no model: write it as PROVIDER/MODEL"))
            })?;
        let mut other = ModelSettings {
            model: Some(model.to_owned()),
            ..settings.clone()
        };
        if settings.provider.as_deref() != Some(provider) {
            other.provider = Some(provider.to_owned());
            // Both values belong to the provider of the settings.
            (other.api, other.base_url) = (None, None);
            // A provider that makes no answers in the background is asked as usual.
            let known = catalog().find(provider).map_err(Failure::usage)?;
            other.background &= known.background_api().is_some();
        }
        endpoint(&other)
    });
    endpoints.filter_map(Result::transpose).collect()
}

/// Returns the endpoint that the settings name; `None` if they name no provider. The key comes from the environment.
pub(crate) fn endpoint(settings: &ModelSettings) -> Result<Option<Endpoint>, Failure> {
    let Some(provider) = settings.provider.clone() else {
        return Ok(None);
    };
    let known = catalog().find(&provider).map_err(Failure::usage)?;
    let background_api = known.background_api().filter(|_| settings.background);
    let api = settings
        .api
        .as_deref()
        .or(background_api)
        .map(str::to_owned);
    let (provider, api) = Format { provider, api }.find()?;
    let model = settings.model.as_deref().unwrap_or_default();
    let key = std::env::var(&*provider.key_variable).ok();
    let base_url = settings.base_url.as_deref();
    let variable = |name: &str| std::env::var(name).ok();
    let key = key.map(Secret::from);
    let endpoint = provider.endpoint_in(Some(&api.name), model, base_url, key, variable);
    let endpoint = endpoint.and_then(|endpoint| match settings.background {
        true => endpoint.in_background(),
        false => Ok(endpoint),
    });
    endpoint.map(Some).map_err(|error| match error {
        EndpointError::NoKey { provider, variable } => Failure::Usage(format!(
            "{provider} needs an API key: set the environment variable {variable} to yours"
        )),
        EndpointError::NoModel { provider } => {
            Failure::Usage(format!("{provider} has many models: name one with --model"))
        }
        EndpointError::NoBaseUrl { provider, example } => Failure::Usage(format!(
            "{provider} has no address of its own: give one with --base-url, such as {example}"
        )),
        other => Failure::usage(other),
    })
}
