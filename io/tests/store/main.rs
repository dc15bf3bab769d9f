//! What every store must do, run over each: in memory, SQLite, and PostgreSQL if `STEPWELL_POSTGRES` is the address of a
//! server. `cargo xtask test store-postgres` starts one.
#![allow(clippy::unwrap_used)]

#[cfg(feature = "postgres")]
mod cut_off;
mod dropped;
mod leases;
#[cfg(feature = "postgres")]
mod line;
mod open;
#[cfg(feature = "postgres")]
mod postgres_only;
#[cfg(feature = "sqlite")]
mod sqlite_only;

mod memory {
    stepwell_io::store_contract!(crate::open::memory);
}

mod layer {
    stepwell_io::store_contract!(crate::open::layer);
}

#[cfg(feature = "sqlite")]
mod sqlite {
    stepwell_io::store_contract!(crate::open::sqlite);
}

#[cfg(feature = "postgres")]
mod postgres {
    stepwell_io::store_contract!(crate::open::postgres);
}
