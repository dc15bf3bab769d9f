//! The schema: one for all databases, by migrations.

use futures::FutureExt;
use futures::future::BoxFuture;
use sqlx::error::BoxDynError;
use sqlx::migrate::{Migration, MigrationSource, MigrationType};
use std::borrow::Cow;
use std::future::ready;

/// What a database calls the few things that each calls otherwise.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// A primary key that the database counts up.
    pub serial: &'static str,
    /// A primary key that is given.
    pub key: &'static str,
    /// A text that is compared byte by byte.
    pub name: &'static str,
    /// A table of small rows that lies in the order of its key.
    pub clustered: &'static str,
}

/// In the order of their numbers.
const MIGRATIONS: &[(i64, &str, &str)] = &[(
    1,
    "turns",
    include_str!("../../../migrations/0001_turns.sql"),
)];

/// The migrations in the words of a database.
#[derive(Debug)]
pub(super) struct Migrations(pub(super) Words);

impl MigrationSource<'static> for Migrations {
    fn resolve(self) -> BoxFuture<'static, Result<Vec<Migration>, BoxDynError>> {
        let Self(words) = self;
        let migrations = MIGRATIONS.iter().map(|(version, name, sql)| {
            let sql = sql
                .replace("{serial}", words.serial)
                .replace("{key}", words.key)
                .replace("{name}", words.name)
                .replace("{clustered}", words.clustered);
            let name = Cow::Borrowed(*name);
            Migration::new(*version, name, MigrationType::Simple, sql.into(), false)
        });
        ready(Ok(migrations.collect())).boxed()
    }
}
