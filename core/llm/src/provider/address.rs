//! The addresses of clouds: from what the cloud's own SDKs ask for, a resource or a project, to the one that a dialect's
//! path is appended to.

use super::Dialect;
use super::error::EndpointError;
use super::header::is_base_url;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};

/// The characters that are percent-encoded in a deployment's name: all except those that RFC 3986 calls unreserved.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The form of the addresses that a provider takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum AddressForm {
    /// The address that the dialect's path is appended to.
    #[default]
    Complete,
    /// A resource of Azure OpenAI, such as `https://NAME.openai.azure.com`: its `v1` API is asked, in which a model is a
    /// deployment. With `?api-version=2024-10-21` the deployment's own address is asked, in that version.
    Azure,
    /// A project of Vertex AI: `projects/PROJECT/locations/LOCATION`.
    Vertex,
    /// A region of AWS, such as `eu-central-1`, or the complete address.
    Bedrock,
}

impl AddressForm {
    /// Returns the address that the environment variables of the cloud's own SDKs name, if they name one: that of
    /// `AZURE_OPENAI_ENDPOINT` and `OPENAI_API_VERSION`, of `GOOGLE_CLOUD_PROJECT` and `GOOGLE_CLOUD_LOCATION`, or of
    /// `AWS_ENDPOINT_URL_BEDROCK_RUNTIME`, else the region of `AWS_REGION` or `AWS_DEFAULT_REGION`.
    /// `variable` returns the value of a variable.
    pub fn from_environment(self, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
        let value = |name: &str| {
            let value = variable(name)?;
            let value = value.trim();
            (!value.is_empty()).then(|| value.to_owned())
        };
        match self {
            Self::Complete => None,
            Self::Azure => {
                let resource = value("AZURE_OPENAI_ENDPOINT")?;
                Some(match value("OPENAI_API_VERSION") {
                    Some(version) if !resource.contains('?') => {
                        format!("{resource}?api-version={version}")
                    }
                    _ => resource,
                })
            }
            Self::Vertex => {
                let project = value("GOOGLE_CLOUD_PROJECT")?;
                let location = value("GOOGLE_CLOUD_LOCATION");
                let location = location.as_deref().unwrap_or("global");
                Some(format!("projects/{project}/locations/{location}"))
            }
            Self::Bedrock => [
                "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
                "AWS_REGION",
                "AWS_DEFAULT_REGION",
            ]
            .into_iter()
            .find_map(value),
        }
    }

    /// Returns the address that was given, or that of the [environment](Self::from_environment).
    pub fn or_environment(
        self,
        given: Option<&str>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Option<String> {
        match given {
            Some(given) => Some(given.to_owned()),
            None => self.from_environment(variable),
        }
    }

    /// Returns whether a given address is the provider's own although the app names it: a region of AWS, and no proxy.
    #[must_use]
    pub fn is_own(self, address: &str) -> bool {
        self == Self::Bedrock && !is_base_url(address)
    }

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
    pub(super) fn is_complete(&self) -> bool {
        *self == Self::Complete
    }

    /// Returns an example of an address, for an error.
    pub(super) fn example(self, dialect: Dialect) -> &'static str {
        match (self, dialect) {
            (Self::Azure, _) => "https://NAME.openai.azure.com (usually in AZURE_OPENAI_ENDPOINT)",
            (Self::Vertex, _) => {
                "projects/PROJECT/locations/LOCATION (usually in GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION)"
            }
            (Self::Bedrock, _) => "eu-central-1 (usually in AWS_REGION or AWS_DEFAULT_REGION)",
            (Self::Complete, Dialect::AgUi) => "http://localhost:8000/agent",
            (Self::Complete, _) => "http://localhost:8000/v1",
        }
    }

    /// Returns the address that the dialect's path is appended to.
    pub(super) fn complete(
        self,
        address: &str,
        dialect: Dialect,
        model: &str,
    ) -> Result<String, EndpointError> {
        match self {
            Self::Vertex if !is_base_url(address) => project(address),
            Self::Bedrock if !is_base_url(address) => region(address),
            _ if !is_base_url(address) => Err(EndpointError::BadBaseUrl {
                base_url: address.to_owned(),
            }),
            Self::Azure => Ok(resource(address, dialect, model)),
            Self::Complete | Self::Vertex | Self::Bedrock => Ok(address.to_owned()),
        }
    }
}

/// Completes the address of a resource. One with a path of its own, but `/openai`, is complete.
///
/// Source: <https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle>; for the versions with a date
/// <https://learn.microsoft.com/azure/ai-foundry/openai/reference>.
fn resource(address: &str, dialect: Dialect, model: &str) -> String {
    let (before, query) = match address.split_once('?') {
        Some((before, query)) => (before, Some(query)),
        None => (address, None),
    };
    let before = before.trim_end_matches('/');
    let resource = before.strip_suffix("/openai").unwrap_or(before);
    let host = resource
        .split_once("://")
        .map_or(resource, |(_, host)| host);
    if host.contains('/') {
        return address.to_owned();
    }
    let mut parts = query.into_iter().flat_map(|query| query.split('&'));
    let version = parts.find_map(|part| part.strip_prefix("api-version="));
    let path = match (version, dialect) {
        (Some(version), dialect) if version.starts_with(|c: char| c.is_ascii_digit()) => {
            match dialect {
                Dialect::OpenAiResponses => String::new(),
                _ => format!("/deployments/{}", utf8_percent_encode(model, SEGMENT)),
            }
        }
        _ => "/v1".to_owned(),
    };
    // The version of this API is in its path.
    let query = query.filter(|query| *query != "api-version=v1");
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    format!("{resource}/openai{path}{query}")
}

/// Completes `projects/PROJECT/locations/LOCATION`. Both become parts of the address, so that they may hold nothing else.
///
/// Source: <https://cloud.google.com/vertex-ai/generative-ai/docs/learn/locations>.
fn project(address: &str) -> Result<String, EndpointError> {
    let parts: Vec<_> = address.split('/').collect();
    let is_name = |name: &str, others: &[char]| {
        let may_be = |c: char| c.is_ascii_alphanumeric() || c == '-' || others.contains(&c);
        !name.is_empty() && name.chars().all(may_be)
    };
    match parts.as_slice() {
        ["projects", project, "locations", location]
            if is_name(project, &[':', '.']) && is_name(location, &[]) =>
        {
            let host = match *location {
                "global" => "aiplatform.googleapis.com".to_owned(),
                "us" | "eu" => format!("aiplatform.{location}.rep.googleapis.com"),
                location => format!("{location}-aiplatform.googleapis.com"),
            };
            Ok(format!(
                "https://{host}/v1beta1/{address}/publishers/google"
            ))
        }
        _ => Err(EndpointError::BadProject {
            address: address.to_owned(),
        }),
    }
}

/// Completes a region. It becomes a part of the address, so that it may hold nothing else.
///
/// Source: <https://docs.aws.amazon.com/general/latest/gr/bedrock.html>.
fn region(region: &str) -> Result<String, EndpointError> {
    let may_be = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    // A word without a hyphen is a mistake, not a region.
    if !region.contains('-') || !region.chars().all(may_be) {
        return Err(EndpointError::BadRegion {
            address: region.to_owned(),
        });
    }
    let domain = match region.starts_with("cn-") {
        true => "amazonaws.com.cn",
        false => "amazonaws.com",
    };
    Ok(format!("https://bedrock-runtime.{region}.{domain}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_becomes_the_address_of_its_api() {
        const HOST: &str = "https://name.openai.azure.com";
        for (given, dialect, completed) in [
            ("", Dialect::OpenAiChat, "/openai/v1"),
            ("/", Dialect::OpenAiResponses, "/openai/v1"),
            ("/openai/", Dialect::OpenAiChat, "/openai/v1"),
            ("/openai/v1/", Dialect::OpenAiChat, "/openai/v1/"),
            ("?api-version=v1", Dialect::OpenAiChat, "/openai/v1"),
            (
                "?api-version=preview",
                Dialect::OpenAiChat,
                "/openai/v1?api-version=preview",
            ),
            (
                "?api-version=2024-10-21",
                Dialect::OpenAiChat,
                "/openai/deployments/my%20gpt%2F5/?api-version=2024-10-21",
            ),
            (
                "/?api-version=2025-04-01-preview",
                Dialect::OpenAiResponses,
                "/openai?api-version=2025-04-01-preview",
            ),
            (
                "/proxy/azure?key=x",
                Dialect::OpenAiChat,
                "/proxy/azure?key=x",
            ),
        ] {
            let complete =
                AddressForm::Azure.complete(&format!("{HOST}{given}"), dialect, "my gpt/5");
            let completed = completed.replace("5/?", "5?");
            assert_eq!(complete, Ok(format!("{HOST}{completed}")), "{given}");
        }
    }

    #[test]
    fn a_project_becomes_the_address_of_its_location() {
        for (location, host) in [
            ("global", "aiplatform.googleapis.com"),
            ("eu", "aiplatform.eu.rep.googleapis.com"),
            ("europe-west1", "europe-west1-aiplatform.googleapis.com"),
        ] {
            let project = format!("projects/my-project/locations/{location}");
            assert_eq!(
                AddressForm::Vertex.complete(&project, Dialect::Gemini, "m"),
                Ok(format!(
                    "https://{host}/v1beta1/{project}/publishers/google"
                ))
            );
        }
        let proxy = "http://localhost:1/vertex";
        let complete = AddressForm::Vertex.complete(proxy, Dialect::Gemini, "m");
        assert_eq!(complete.as_deref(), Ok(proxy));
        for bad in [
            "my-project",
            "projects/a/locations/",
            "projects/a/locations/evil.example",
            "projects/a/locations/x@evil",
            "projects/a/../locations/us",
            "projects/a b/locations/us",
        ] {
            let refused = AddressForm::Vertex.complete(bad, Dialect::Gemini, "m");
            assert!(
                matches!(refused, Err(EndpointError::BadProject { .. })),
                "{bad}"
            );
        }
    }

    #[test]
    fn a_region_becomes_the_address_of_its_runtime() {
        let complete =
            |address: &str| AddressForm::Bedrock.complete(address, Dialect::BedrockConverse, "m");
        for (region, address) in [
            (
                "eu-central-1",
                "https://bedrock-runtime.eu-central-1.amazonaws.com",
            ),
            (
                "us-gov-west-1",
                "https://bedrock-runtime.us-gov-west-1.amazonaws.com",
            ),
            (
                "cn-north-1",
                "https://bedrock-runtime.cn-north-1.amazonaws.com.cn",
            ),
            ("http://localhost:1/proxy", "http://localhost:1/proxy"),
        ] {
            assert_eq!(complete(region).as_deref(), Ok(address));
        }
        for bad in [
            "",
            "virginia",
            "us-east-1.evil.example",
            "us-east-1/x",
            "EU-WEST-1",
            "a-@b",
        ] {
            let refused = complete(bad);
            assert!(
                matches!(refused, Err(EndpointError::BadRegion { .. })),
                "{bad}"
            );
        }
    }

    #[test]
    fn the_variables_of_the_sdks_name_an_address() {
        let environment = |form: AddressForm, set: &[(&str, &str)]| {
            form.from_environment(|name| {
                let found = set.iter().find(|(set, _)| *set == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        let endpoint = ("AZURE_OPENAI_ENDPOINT", "https://name.openai.azure.com/ ");
        let version = ("OPENAI_API_VERSION", "2024-10-21");
        for (form, set, address) in [
            (AddressForm::Azure, vec![], None),
            (AddressForm::Azure, vec![version], None),
            (
                AddressForm::Azure,
                vec![endpoint],
                Some("https://name.openai.azure.com/"),
            ),
            (
                AddressForm::Azure,
                vec![endpoint, version],
                Some("https://name.openai.azure.com/?api-version=2024-10-21"),
            ),
            (
                AddressForm::Vertex,
                vec![("GOOGLE_CLOUD_LOCATION", "us")],
                None,
            ),
            (
                AddressForm::Vertex,
                vec![("GOOGLE_CLOUD_PROJECT", "p"), ("GOOGLE_CLOUD_LOCATION", "")],
                Some("projects/p/locations/global"),
            ),
            (
                AddressForm::Vertex,
                vec![
                    ("GOOGLE_CLOUD_PROJECT", "p"),
                    ("GOOGLE_CLOUD_LOCATION", "us-east5"),
                ],
                Some("projects/p/locations/us-east5"),
            ),
            (
                AddressForm::Bedrock,
                vec![
                    ("AWS_DEFAULT_REGION", "us-east-1"),
                    ("AWS_REGION", "eu-west-1"),
                ],
                Some("eu-west-1"),
            ),
            (
                AddressForm::Bedrock,
                vec![("AWS_DEFAULT_REGION", "us-east-1")],
                Some("us-east-1"),
            ),
            (
                AddressForm::Bedrock,
                vec![
                    ("AWS_REGION", "eu-west-1"),
                    ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "http://localhost:1"),
                ],
                Some("http://localhost:1"),
            ),
            (AddressForm::Complete, vec![endpoint], None),
        ] {
            assert_eq!(environment(form, &set).as_deref(), address, "{set:?}");
        }
    }
}
