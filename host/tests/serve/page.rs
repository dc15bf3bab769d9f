//! The web page as it is served; what it does is tested in a browser.

use crate::server::{Server, refusal};

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
