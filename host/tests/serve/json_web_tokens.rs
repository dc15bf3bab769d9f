//! Users by the tokens of an issuer.

use crate::file::File;
use crate::issuer::Issuer;
use crate::server::{Server, refusal};
use crate::users::{User, tokens};
use serde_json::json;
use std::process::Stdio;

async fn status(server: &Server, token: &str) -> (u16, Option<String>) {
    let request = server.request("GET", "/threads").bearer_auth(token);
    let response = request.send().await.expect("an answer");
    if response.status() == 200 {
        return (200, None);
    }
    assert_eq!(response.headers()["www-authenticate"], "Bearer");
    let (status, code) = refusal(response).await;
    (status, Some(code))
}

// The issuer answers while the test waits for the program to start.
#[tokio::test(flavor = "multi_thread")]
async fn the_subject_of_a_token_is_the_user() {
    let issuer = Issuer::start().await;
    let folder = File::new("issuer");
    let carol = User::new("carol");
    let tokens = tokens(&folder, &[&carol]);
    let server = Server::start(&[
        "--jwt-issuer",
        Issuer::NAME,
        "--jwt-audience",
        "stepwell",
        "--jwt-keys",
        &issuer.keys,
        "--tokens",
        tokens.to_str().expect("text"),
    ]);
    let ours = json!({ "aud": "stepwell" });
    let [alice, bob] = ["alice", "bob"].map(|name| User::with(issuer.token(name, 600, &ours)));
    alice.begin(&server, "t", "r", "hello").await;
    for other in [&bob, &carol] {
        let gone = other.call(&server, "GET", "/threads/t", None).await;
        assert_eq!(refusal(gone).await, (404, "no_thread".to_owned()));
    }
    // A later token is of the same user.
    let later = issuer.token("alice", 1200, &ours);
    assert_eq!(status(&server, &later).await, (200, None));
    let unauthorized = (401, Some("unauthorized".to_owned()));
    let other_issuer = json!({ "aud": "stepwell", "iss": "https://other.example" });
    let signed = |header| issuer.signed(&header, "alice", 600, &ours);
    for token in [
        issuer.token("alice", -120, &ours),
        issuer.token(
            "alice",
            600,
            &json!({ "aud": "stepwell", "nbf": 9_999_999_999_u64 }),
        ),
        issuer.token("alice", 600, &json!({ "aud": "another" })),
        issuer.token("alice", 600, &json!({})),
        issuer.token("alice", 600, &other_issuer),
        issuer.token("", 600, &ours),
        signed(json!({ "alg": "none" })),
        signed(json!({ "alg": "HS256", "kid": "k" })),
        signed(json!({ "alg": "ES256", "kid": "nobody's" })),
        Issuer::start().await.token("alice", 600, &ours),
    ] {
        assert_eq!(status(&server, &token).await, unauthorized, "{token}");
    }
    assert_eq!(
        issuer.asked(),
        1,
        "a key that nobody knows is looked for once a minute"
    );
}

#[tokio::test]
async fn keys_that_are_away_are_no_fault_of_the_token() {
    let folder = File::new("keys-away");
    let carol = User::new("carol");
    let tokens = tokens(&folder, &[&carol]);
    let issuer = Issuer::start().await;
    let token = issuer.token("alice", 600, &json!({}));
    let arguments = [
        "--jwt-issuer",
        Issuer::NAME,
        "--jwt-keys",
        "http://127.0.0.1:1/keys",
        "--tokens",
        tokens.to_str().expect("text"),
    ];
    let server = Server::start_logged(&arguments, "info", Stdio::piped());
    let request = server.request("GET", "/threads").bearer_auth(&token);
    let response = request.send().await.expect("an answer");
    assert_eq!(response.headers()["retry-after"], "1");
    assert_eq!(
        refusal(response).await,
        (503, "keys_unavailable".to_owned())
    );
    assert_eq!(status(&server, &carol.token).await, (200, None));
    let said = server.log().await;
    assert!(said.contains("the issuer's keys cannot be read"), "{said}");
    for secret in [&token, &carol.token] {
        assert!(!said.contains(secret.as_str()), "{said}");
    }
}
