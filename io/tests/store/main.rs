//! What every store must do, run over each: in memory, SQLite, and PostgreSQL if `STEPWELL_POSTGRES` is the address of a
//! server. `cargo xtask test store-postgres` starts one.
#![allow(clippy::unwrap_used)]

mod contract;
mod model;
mod open;
#[cfg(feature = "postgres")]
mod postgres_only;
#[cfg(feature = "sqlite")]
mod sqlite_only;
mod support;

macro_rules! contract {
    ($($test:ident)*) => {
        mod memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                let opened = crate::open::memory();
                crate::contract::$test(opened.store).await;
            })*

            #[test]
            fn any_interleaving_gives_what_the_model_says() {
                crate::model::holds(|| async { crate::open::memory() });
            }
        }

        mod layer {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                let opened = crate::open::layer();
                crate::contract::$test(opened.store).await;
            })*
        }

        #[cfg(feature = "sqlite")]
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                let opened = crate::open::sqlite(stringify!($test)).await;
                crate::contract::$test(opened.store.clone()).await;
            })*

            #[test]
            fn any_interleaving_gives_what_the_model_says() {
                crate::model::holds(|| crate::open::sqlite("model"));
            }
        }

        #[cfg(feature = "postgres")]
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                if let Some(opened) = crate::open::postgres(stringify!($test)).await {
                    crate::contract::$test(opened.store.clone()).await;
                }
            })*

            #[test]
            fn any_interleaving_gives_what_the_model_says() {
                if crate::open::postgres_url().is_some() {
                    crate::model::holds(|| async {
                        crate::open::postgres("model").await.unwrap()
                    });
                }
            }
        }
    };
}

contract::rules!(contract);
