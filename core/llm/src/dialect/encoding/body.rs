use super::super::{GenerationSettings, HttpRequest, ModelRequest};
use super::own_tools::own_tools;
use crate::provider::{Endpoint, UserField};
use serde::Serialize;
use serde::ser::SerializeMap;
use serde_json::{Map, Value};

/// Builds a `POST` of JSON to the endpoint's address with `path` appended. `key` is the header that carries the key,
/// and the prefix of its value; `accept` is the media type of the stream.
pub(in super::super) fn json_request<T: Serialize>(
    request: &ModelRequest<'_>,
    path: &str,
    key: (&str, &str),
    accept: &str,
    body: &T,
) -> HttpRequest {
    let endpoint = request.endpoint;
    let mut request = empty_request(endpoint, "POST", path, key, accept);
    let content_type = ("content-type".to_owned(), "application/json".to_owned());
    let after_key = usize::from(endpoint.key.is_some());
    request.headers.insert(after_key, content_type);
    // Serialising strings, maps with string keys and finite numbers into memory cannot fail: a float that is not finite
    // becomes null.
    request.body = serde_json::to_vec(body).unwrap_or_default();
    request
}

/// Builds a request without a body, otherwise as [`json_request`] does.
pub(in super::super) fn empty_request(
    endpoint: &Endpoint,
    method: &'static str,
    path: &str,
    key: (&str, &str),
    accept: &str,
) -> HttpRequest {
    let mut headers = Vec::with_capacity(3 + endpoint.headers.len());
    if let Some(secret) = &endpoint.key {
        let (name, before) = key;
        headers.push((name.to_owned(), format!("{before}{}", secret.expose())));
    }
    headers.push(("accept".to_owned(), accept.to_owned()));
    headers.extend(endpoint.headers.iter().cloned());
    HttpRequest {
        method,
        url: append(&endpoint.base_url, path),
        headers,
        body: Vec::new(),
    }
}

/// Appends a path, which may have a query, to an address, whose own query stays.
fn append(base_url: &str, path: &str) -> String {
    let (before, query) = match base_url.split_once('?') {
        Some((before, query)) => (before, query),
        None => (base_url, ""),
    };
    let before = before.trim_end_matches('/');
    match (query, path.contains('?')) {
        ("", _) => format!("{before}{path}"),
        (query, false) => format!("{before}{path}?{query}"),
        (query, true) => format!("{before}{path}&{query}"),
    }
}

/// The fields of a request's body: Stepwell's in a fixed order, then the app's own, which win over them.
pub(in super::super) struct Fields<'a, M> {
    map: M,
    settings: &'a GenerationSettings,
    /// The app's fields that were put already, with Stepwell's.
    merged: Vec<&'static str>,
}

impl<'a, M: SerializeMap> Fields<'a, M> {
    pub(crate) fn new(map: M, settings: &'a GenerationSettings) -> Self {
        Self {
            map,
            settings,
            merged: Vec::new(),
        }
    }

    /// Writes a field, unless the app has its own.
    pub(in super::super) fn put<T: Serialize + ?Sized>(
        &mut self,
        name: &str,
        value: &T,
    ) -> Result<(), M::Error> {
        if self.settings.extra.contains_key(name) {
            return Ok(());
        }
        self.map.serialize_entry(name, value)
    }

    /// Writes a field, if there is a value.
    pub(in super::super) fn put_some<T: Serialize>(
        &mut self,
        name: &str,
        value: Option<T>,
    ) -> Result<(), M::Error> {
        value.map_or(Ok(()), |value| self.put(name, &value))
    }

    /// Puts the end user, as OpenAI and those that are compatible with it want it.
    pub(in super::super) fn put_user(&mut self, field: UserField) -> Result<(), M::Error> {
        let name = match field {
            UserField::User => "user",
            UserField::SafetyIdentifier => "safety_identifier",
            UserField::Never => return Ok(()),
        };
        self.put_some(name, self.settings.user.as_deref())
    }

    /// Puts an object of settings, if it is not empty. The app's own object of that name adds to it, field by field,
    /// and wins.
    pub(in super::super) fn put_settings(
        &mut self,
        name: &'static str,
        mut value: Map<String, Value>,
    ) -> Result<(), M::Error> {
        if let Some(Value::Object(own)) = self.settings.extra.get(name) {
            value.extend(own.clone());
            self.merged.push(name);
            return self.map.serialize_entry(name, &value);
        }
        if value.is_empty() {
            return Ok(());
        }
        self.put(name, &value)
    }

    /// Leaves out the app's field of this name: what it says is in another field.
    pub(in super::super) fn leave_out(&mut self, name: &'static str) {
        self.merged.push(name);
    }

    /// Adds the tools, if there are any. The app's own entries in the field of that name follow them.
    pub(in super::super) fn put_tools<T: Serialize>(
        &mut self,
        tools: &[T],
    ) -> Result<(), M::Error> {
        #[derive(Serialize)]
        #[serde(untagged)]
        enum Tool<'t, T> {
            Offered(&'t T),
            Own(&'t Value),
        }

        match own_tools(self.settings) {
            [] if tools.is_empty() => Ok(()),
            [] => self.put("tools", tools),
            own => {
                let offered = tools.iter().map(Tool::Offered);
                let all: Vec<_> = offered.chain(own.iter().map(Tool::Own)).collect();
                self.merged.push("tools");
                self.map.serialize_entry("tools", &all)
            }
        }
    }

    /// Writes the app's own fields, and ends the body.
    pub(in super::super) fn end(mut self) -> Result<M::Ok, M::Error> {
        for (name, value) in &self.settings.extra {
            if !self.merged.contains(&name.as_str()) {
                self.map.serialize_entry(name, value)?;
            }
        }
        self.map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_of_an_address_stays_behind_the_path() {
        for (base_url, path, url) in [
            ("https://h/v1/", "/chat", "https://h/v1/chat"),
            ("https://h/v1?", "/chat", "https://h/v1/chat"),
            ("https://h/v1/?a=1", "/chat", "https://h/v1/chat?a=1"),
            (
                "https://h?a=1",
                "/m:go?alt=sse",
                "https://h/m:go?alt=sse&a=1",
            ),
        ] {
            assert_eq!(append(base_url, path), url);
        }
    }
}
