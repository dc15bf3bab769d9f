use super::*;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use futures::FutureExt;
use stepwell_core::Timestamp;
use stepwell_io::store::{MemoryStore, NewTurn, TurnKey, TurnStore};

fn limits(runs: usize, requests: u32) -> UserLimits {
    UserLimits {
        runs: NonZeroUsize::new(runs),
        threads: None,
        requests: NonZeroU32::new(requests),
        streams: None,
        share: 2,
        users: Mutex::new(Users {
            known: HashMap::new(),
            look_at: LOOK_FROM,
        }),
    }
}

fn user(name: &str) -> User {
    User::named(name).unwrap()
}

/// Returns the seconds after which a refused client may try again.
fn retry_after(refusal: Refusal) -> u64 {
    let response = refusal.into_response();
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    let seconds = response.headers()[header::RETRY_AFTER].to_str().unwrap();
    seconds.parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_users_requests_come_at_once_and_then_evenly() {
    let limits = limits(0, 6);
    let (alice, bob) = (user("alice"), user("bob"));
    for _ in 0..6 {
        limits.request(&alice).unwrap();
    }
    for _ in 0..3 {
        let refused = limits.request(&alice).unwrap_err();
        assert_eq!(retry_after(refused), 10, "what is refused does not count");
    }
    limits.request(&bob).unwrap();
    tokio::time::advance(Duration::from_millis(9_999)).await;
    assert_eq!(retry_after(limits.request(&alice).unwrap_err()), 1);
    tokio::time::advance(Duration::from_millis(1)).await;
    limits.request(&alice).unwrap();
    assert_eq!(retry_after(limits.request(&alice).unwrap_err()), 10);
    tokio::time::advance(Duration::from_secs(3600)).await;
    for _ in 0..6 {
        limits.request(&alice).unwrap();
    }
    limits.request(&alice).unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn without_limits_nothing_is_refused_or_kept() {
    let limits = limits(0, 0);
    let store = MemoryStore::new();
    for _ in 0..1000 {
        limits.request(&user("alice")).unwrap();
        let leave = limits.start(&user("alice"), &store, None).await.unwrap();
        assert!(leave.is_none());
    }
    assert!(lock(&limits.users).known.is_empty());
}

#[tokio::test(start_paused = true)]
async fn users_at_rest_take_no_memory() {
    let limits = limits(2, 60);
    let store = MemoryStore::new();
    let leave = limits.start(&user("runs"), &store, None).await.unwrap();
    for number in 1..LOOK_FROM {
        limits.request(&user(&format!("user {number}"))).unwrap();
    }
    tokio::time::advance(MINUTE).await;
    limits.request(&user("asks")).unwrap();
    let known: Vec<_> = lock(&limits.users).known.keys().cloned().collect();
    assert_eq!(known.len(), 2, "{known:?}");
    assert!(known.contains(&user("runs")) && known.contains(&user("asks")));
    drop(leave);
}

#[tokio::test(start_paused = true)]
async fn unfinished_turns_count() {
    let limits = limits(2, 0);
    let store = MemoryStore::new();
    let (alice, bob) = (user("alice"), user("bob"));
    let begin = async |user: &User, thread: &str| {
        let key = TurnKey::new(user.thread(thread), "r");
        let turn = NewTurn::new(key, "host", Timestamp(1));
        store.begin_turn(&turn).await.unwrap();
    };
    let start = async |user: &User, thread: Option<&str>| {
        let thread = thread.map(|thread| user.thread(thread));
        limits.start(user, &store, thread.as_ref()).await
    };
    begin(&alice, "one").await;
    begin(&alice, "two").await;
    assert_eq!(retry_after(start(&alice, None).await.unwrap_err()), 5);
    let other = start(&alice, Some("other")).await;
    assert_eq!(retry_after(other.unwrap_err()), 5);
    // The turn of its own thread is stopped for it.
    assert!(start(&alice, Some("one")).await.unwrap().is_some());
    assert!(start(&bob, Some("one")).await.unwrap().is_some());
    store.delete_thread(&alice.thread("two")).await.unwrap();
    assert!(start(&alice, Some("other")).await.unwrap().is_some());
    begin(&alice, "other").await;
    start(&alice, None).await.unwrap_err();
    store.delete_thread(&alice.thread("one")).await.unwrap();
    assert!(start(&alice, None).await.unwrap().is_some());
}

#[tokio::test]
async fn a_user_has_so_many_threads() {
    let limits = UserLimits {
        threads: NonZeroUsize::new(2),
        ..limits(0, 0)
    };
    let store = MemoryStore::new();
    let (alice, bob) = (user("alice"), user("bob"));
    let start = async |user: &User, thread: &str| {
        let thread = user.thread(thread);
        limits.start(user, &store, Some(&thread)).await
    };
    for thread in ["one", "two"] {
        assert!(start(&alice, thread).await.unwrap().is_some());
        let key = TurnKey::new(alice.thread(thread), "r");
        let turn = NewTurn::new(key, "host", Timestamp(1));
        store.begin_turn(&turn).await.unwrap();
    }
    let refused = start(&alice, "three").await.unwrap_err().into_response();
    assert_eq!(refused.status(), StatusCode::CONFLICT);
    // There is room in those that there are, and others have their own.
    assert!(start(&alice, "one").await.unwrap().is_some());
    assert!(start(&bob, "three").await.unwrap().is_some());
    store.delete_thread(&alice.thread("two")).await.unwrap();
    assert!(start(&alice, "three").await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn of_two_that_start_at_once_the_second_sees_the_first() {
    let limits = limits(1, 0);
    let store = MemoryStore::new();
    let alice = user("alice");
    let first = limits.start(&alice, &store, None).await.unwrap().unwrap();
    let mut second = std::pin::pin!(limits.start(&alice, &store, None));
    assert!((&mut second).now_or_never().is_none());
    let bob = user("bob");
    assert!(limits.start(&bob, &store, None).await.unwrap().is_some());
    let key = TurnKey::new(alice.thread("one"), "r");
    let turn = NewTurn::new(key, "host", Timestamp(1));
    store.begin_turn(&turn).await.unwrap();
    drop(first);
    second.await.unwrap_err();
}

#[tokio::test]
async fn a_user_has_a_share_of_the_streams() {
    let mut limits = limits(0, 0);
    let (alice, bob) = (user("alice"), user("bob"));
    let first = limits.stream(&alice).unwrap();
    let second = limits.stream(&alice).unwrap();
    for _ in 0..3 {
        let refused = limits.stream(&alice).unwrap_err();
        assert_eq!(retry_after(refused), 5, "what is refused does not count");
    }
    limits.stream(&bob).unwrap();
    // The stream counts for as long as its frames are held.
    let frames = first.around(futures::stream::pending());
    limits.stream(&alice).unwrap_err();
    drop(frames);
    drop(limits.stream(&alice).unwrap());
    drop(second);
    limits.streams = NonZeroUsize::new(1);
    let _open = limits.stream(&alice).unwrap();
    limits.stream(&alice).unwrap_err();
}

#[tokio::test]
async fn those_who_ask_without_a_name_have_all_the_streams() {
    let mut limits = limits(0, 0);
    let all: Vec<_> = (0..5)
        .map(|_| limits.stream(&User::default()).unwrap())
        .collect();
    limits.streams = NonZeroUsize::new(5);
    limits.stream(&User::default()).unwrap_err();
    drop(all);
    limits.stream(&User::default()).unwrap();
}
