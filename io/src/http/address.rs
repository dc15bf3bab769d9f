use super::error::SendError;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderValue, Uri};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use std::borrow::Cow;

/// Characters that a path may not hold unencoded, but that users type. Characters outside of ASCII are always encoded.
const ENCODED_CHARACTERS: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'`');

/// The address of a request.
#[derive(Debug)]
pub(super) struct Address {
    pub(super) uri: Uri,
    /// The header `Authorization`, from a user and password in the address.
    pub(super) credentials: Option<HeaderValue>,
}

pub(super) fn read(url: &str) -> Result<Address, SendError> {
    let encoded: Cow<'_, str> = utf8_percent_encode(url.trim(), ENCODED_CHARACTERS).into();
    let uri: Uri = encoded
        .parse()
        .map_err(|error| SendError::malformed(&error))?;
    match uri.scheme_str() {
        Some("http") => {}
        Some("https") if cfg!(feature = "tls") => {}
        Some("https") => {
            return Err(SendError::address(
                "https:// addresses need the feature `tls` of stepwell-io, which this build has not",
            ));
        }
        _ => {
            return Err(SendError::address(
                "the address does not begin with http:// or https://",
            ));
        }
    }
    let Some((user, host)) = uri
        .authority()
        .and_then(|authority| authority.as_str().rsplit_once('@'))
    else {
        return Ok(Address {
            uri,
            credentials: None,
        });
    };
    let credentials = basic(user);
    let mut parts = uri.clone().into_parts();
    let host = host.parse().map_err(|error| SendError::malformed(&error))?;
    parts.authority = Some(host);
    let uri = Uri::from_parts(parts).map_err(|error| SendError::malformed(&error))?;
    Ok(Address {
        uri,
        credentials: Some(credentials?),
    })
}

/// Returns `user:password` of an address as a header.
fn basic(user: &str) -> Result<HeaderValue, SendError> {
    let (user, password) = user.split_once(':').unwrap_or((user, ""));
    let mut pair: Vec<u8> = percent_decode_str(user).collect();
    pair.push(b':');
    pair.extend(percent_decode_str(password));
    let text = format!("Basic {}", BASE64_STANDARD.encode(pair));
    let mut header = HeaderValue::try_from(text).map_err(|error| SendError::malformed(&error))?;
    header.set_sensitive(true);
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(url: &str) -> String {
        read(url).expect("an address").uri.to_string()
    }

    #[test]
    fn reads_addresses_as_users_type_them() {
        assert_eq!(uri("http://localhost:11434"), "http://localhost:11434/");
        assert_eq!(
            uri(" http://host/a b/é?q=\"x\"#part "),
            "http://host/a%20b/%C3%A9?q=%22x%22"
        );
        assert_eq!(uri("http://[::1]:80/v1"), "http://[::1]:80/v1");
    }

    #[test]
    fn refuses_other_texts_without_repeating_them() {
        for url in [
            "localhost:80/v1?key=hush",
            "ftp://host/hush",
            "/hush",
            "",
            "http://ho st/hush",
        ] {
            let error = read(url).expect_err(url).to_string();
            assert!(error.starts_with("the request is malformed: "), "{error}");
            assert!(!error.contains("hush"), "{error}");
        }
    }

    #[test]
    fn moves_a_user_into_a_header() {
        let address = read("http://ada:p%40ss@host:8080/v1").expect("an address");
        assert_eq!(address.uri, "http://host:8080/v1");
        let credentials = address.credentials.expect("there are some");
        assert_eq!(credentials, "Basic YWRhOnBAc3M=");
        assert!(credentials.is_sensitive());
    }

    #[cfg(not(feature = "tls"))]
    #[test]
    fn https_without_tls_names_the_feature() {
        let error = read("https://host/v1").expect_err("no TLS").to_string();
        assert!(error.contains("feature `tls`"), "{error}");
    }
}
