//! The web page as it is served; what it does is tested in a browser.

use crate::server::{Server, asks, refusal};

#[tokio::test]
async fn the_page_is_served_with_all_that_it_names() {
    let server = Server::start(&[]);
    let response = server.get("/").await;
    assert_eq!(response.status(), 200);
    let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-type"), "text/html; charset=utf-8");
    assert_eq!(header("cache-control"), "no-cache");
    assert_eq!(header("x-content-type-options"), "nosniff");
    assert_eq!(header("referrer-policy"), "no-referrer");
    let policy = header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'; "), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    let page = response.text().await.expect("text");
    let named: Vec<_> = page
        .split('"')
        .filter(|text| text.starts_with("page/"))
        .collect();
    assert!(named.len() >= 3, "{named:?}");
    for path in named {
        let file = server.get(&format!("/{path}")).await;
        assert_eq!(file.status(), 200, "{path}");
        let caching = file.headers()["cache-control"].to_str().unwrap();
        assert!(caching.contains("immutable"), "{path}: {caching}");
        assert!(!file.text().await.expect("text").is_empty(), "{path}");
    }
    let licences = server.get("/page/licences.txt").await.text().await;
    assert!(licences.expect("text").contains("preact"));
    let none = refusal(server.get("/page/index.rs").await).await;
    assert_eq!(none, (404, "not_found".to_owned()));
}

#[tokio::test]
async fn the_page_needs_no_token_and_what_it_asks_for_does() {
    let server = Server::start_with(&[], Some(("STEPWELL_SERVE_TOKEN", "secret")));
    assert_eq!(server.get("/").await.status(), 200);
    assert_eq!(server.get("/threads").await.status(), 401);
}

#[tokio::test]
async fn the_page_is_not_served_by_a_strangers_name() {
    let server = Server::start(&[]);
    let request = server.request("GET", "/").header("host", "evil.example");
    let refused = refusal(request.send().await.expect("an answer")).await;
    assert_eq!(refused, (421, "wrong_host".to_owned()));
}

#[tokio::test]
async fn the_page_is_compressed_and_nothing_else_is() {
    let server = Server::start(&[]);
    let packed = |request: reqwest::RequestBuilder| request.header("accept-encoding", "gzip, br");
    let page = server.get("/").await.text().await.expect("text");
    let script = page.split('"').find(|text| text.contains(".js"));
    let script = format!("/{}", script.expect("the page names a script"));
    for path in ["/", &script] {
        let whole = server.get(path).await;
        assert!(whole.headers().get("content-encoding").is_none(), "{path}");
        let whole = whole.bytes().await.expect("bytes");
        let request = packed(server.request("GET", path));
        let response = request.send().await.expect("an answer");
        assert_eq!(response.headers()["content-encoding"], "gzip", "{path}");
        assert_eq!(response.headers()["vary"], "accept-encoding", "{path}");
        let packed = response.bytes().await.expect("bytes");
        assert!(packed.starts_with(&[0x1f, 0x8b]), "{path}");
        assert!(
            packed.len() < whole.len() * 2 / 3,
            "{path}: {}",
            packed.len()
        );
    }
    let stream = packed(server.post(&asks("run", "hello"))).send().await;
    let stream = stream.expect("an answer");
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    assert!(stream.headers().get("content-encoding").is_none());
    assert!(stream.text().await.expect("text").contains("RUN_FINISHED"));
    let threads = packed(server.request("GET", "/threads")).send().await;
    assert!(
        threads
            .expect("an answer")
            .headers()
            .get("content-encoding")
            .is_none()
    );
}
