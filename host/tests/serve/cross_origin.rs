//! Web pages of other origins.

use crate::server::{Server, asks, refusal};
use reqwest::Response;

async fn preflight(server: &Server, origin: &str) -> Response {
    let request = server.request("OPTIONS", "/agent").header("origin", origin);
    let request = request.header("access-control-request-method", "POST");
    let request = request.header(
        "access-control-request-headers",
        "authorization,content-type",
    );
    request.send().await.expect("an answer")
}

fn allowed(response: &Response) -> Option<&str> {
    let value = response.headers().get("access-control-allow-origin")?;
    value.to_str().ok()
}

#[tokio::test]
async fn a_page_of_an_allowed_origin_may_ask_and_read() {
    // A preflight bears no token.
    let server = Server::start(&[
        "--allow-origin",
        "http://localhost:3000",
        "--token",
        "secret",
    ]);
    let response = preflight(&server, "http://localhost:3000").await;
    assert_eq!(response.status(), 200);
    assert_eq!(allowed(&response), Some("http://localhost:3000"));
    let header = |name: &str| {
        response.headers()[name]
            .to_str()
            .expect("text")
            .to_ascii_lowercase()
    };
    assert!(header("access-control-allow-methods").contains("post"));
    let headers = header("access-control-allow-headers");
    assert!(
        headers.contains("authorization") && headers.contains("content-type"),
        "{headers}"
    );

    let request = server
        .post(&asks("r", "hello"))
        .header("origin", "http://localhost:3000");
    let response = request.send().await.expect("an answer");
    assert_eq!(response.status(), 401);
    assert_eq!(
        allowed(&response),
        Some("http://localhost:3000"),
        "the page may read the error too"
    );
    let exposed = &response.headers()["access-control-expose-headers"];
    let exposed = exposed.to_str().expect("a text");
    for header in [
        "retry-after",
        "x-resumable-stream-id",
        "stream-next-offset",
        "etag",
    ] {
        assert!(exposed.contains(header), "{exposed}");
    }
}

#[tokio::test]
async fn a_page_of_another_origin_may_not() {
    let server = Server::start(&["--allow-origin", "http://localhost:3000"]);
    assert_eq!(
        allowed(&preflight(&server, "http://evil.example").await),
        None
    );
    let closed = Server::start(&[]);
    assert_eq!(
        allowed(&preflight(&closed, "http://localhost:3000").await),
        None
    );
    let open = Server::start(&["--allow-origin", "*"]);
    assert_eq!(
        allowed(&preflight(&open, "http://any.example").await),
        Some("*")
    );
}

#[tokio::test]
async fn a_page_whose_own_name_points_here_may_not() {
    let ask = async |server: &Server, token: Option<&str>| {
        let mut request = server.post(&asks("r", "hello"));
        request = request.header("host", "evil.example:8000");
        if let Some(token) = token {
            request = request.header("authorization", token);
        }
        request.send().await.expect("an answer")
    };
    let refused = refusal(ask(&Server::start(&[]), None).await).await;
    assert_eq!(refused, (421, "wrong_host".to_owned()));
    let named = Server::start(&["--allow-host", "evil.example"]);
    assert_eq!(ask(&named, None).await.status(), 200);
    let guarded = Server::start(&["--token", "secret"]);
    assert_eq!(ask(&guarded, Some("Bearer secret")).await.status(), 200);
    assert_eq!(ask(&guarded, None).await.status(), 401);
}
