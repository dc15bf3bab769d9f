//! `GET /openapi.json`: the server's own description.

use axum::http::header;
use axum::response::IntoResponse;

/// The path to which runs are posted.
pub(crate) const AGENT_PATH: &str = "/agent";

/// The path to which chats of the AI SDK are posted.
pub(super) const CHAT_PATH: &str = "/api/chat";

const DOCUMENT: &str = include_str!("openapi.json");

pub(super) async fn openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT)
}

#[cfg(test)]
mod tests {
    use super::super::refusal::Code;
    use super::*;
    use serde_json::{Value, json};

    fn document() -> Value {
        serde_json::from_str(DOCUMENT).expect("the document is JSON")
    }

    #[test]
    fn every_error_code_is_described_with_its_status() {
        let document = document();
        let codes = &document["components"]["schemas"]["Error"]["properties"]["error"]["properties"]
            ["code"]["enum"];
        assert_eq!(*codes, json!(Code::ALL));
        let paths = document["paths"].as_object().expect("paths").values();
        let operations = paths.flat_map(|path| path.as_object().expect("operations").values());
        let responses: Vec<_> = operations
            .filter_map(|operation| operation.get("responses"))
            .collect();
        for &code in Code::ALL {
            let is_of_path = matches!(code, Code::NotFound | Code::MethodNotAllowed);
            let status = code.status().as_u16().to_string();
            assert!(
                is_of_path || responses.iter().any(|known| known.get(&status).is_some()),
                "{code:?}: {status}"
            );
        }
    }

    #[test]
    fn operations_with_a_token_document_429() {
        let document = document();
        for (path, operations) in document["paths"].as_object().expect("paths") {
            for (method, operation) in operations.as_object().expect("operations") {
                let has = |status| operation["responses"].get(status).is_some();
                assert_eq!(has("401"), has("429"), "{method} {path}");
            }
        }
    }

    #[test]
    fn operations_with_a_query_document_400() {
        let document = document();
        for (path, operations) in document["paths"].as_object().expect("paths") {
            for (method, operation) in operations.as_object().expect("operations") {
                let parameters = operation["parameters"].as_array();
                let mut parameters = parameters.into_iter().flatten();
                if parameters.any(|parameter| parameter["in"] == "query") {
                    let why = &operation["responses"]["400"]["description"];
                    let why = why.as_str().unwrap_or_default();
                    assert!(
                        why.contains("the query cannot be read")
                            || why.contains("The query cannot be read"),
                        "{method} {path}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_version_is_the_programs() {
        assert_eq!(document()["info"]["version"], env!("CARGO_PKG_VERSION"));
    }
}
