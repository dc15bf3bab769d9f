//! Brings the schema up to date.

use super::error::failed;
use super::session::PostgresSession;
use crate::store::StoreError;
use crate::store::sql::database::Session;
use crate::store::sql::schema::MIGRATIONS;
use futures::FutureExt;
use futures::future::BoxFuture;
use sqlx::error::BoxDynError;
use sqlx::migrate::{MigrateError, Migration, MigrationSource, MigrationType, Migrator};
use sqlx::postgres::PgPool;
use std::borrow::Cow;
use std::future::ready;

/// The migrations in PostgreSQL's words.
#[derive(Debug)]
struct Migrations;

impl MigrationSource<'static> for Migrations {
    fn resolve(self) -> BoxFuture<'static, Result<Vec<Migration>, BoxDynError>> {
        let migrations = MIGRATIONS.iter().map(|migration| {
            let name = Cow::Borrowed(migration.name);
            let sql = migration.sql(PostgresSession::WORDS);
            Migration::new(
                migration.version,
                name,
                MigrationType::Simple,
                sql.into(),
                false,
            )
        });
        ready(Ok(migrations.collect())).boxed()
    }
}

pub(super) async fn migrate(pool: &PgPool) -> Result<(), StoreError> {
    let migrated = async {
        let migrator = Migrator::new(Migrations).await?;
        migrator.run(pool).await
    };
    migrated.await.map_err(not_migrated)
}

fn not_migrated(error: MigrateError) -> StoreError {
    match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => failed(error),
        MigrateError::VersionMissing(version) => StoreError::TooNew {
            message: format!("its schema is of version {version}"),
        },
        MigrateError::VersionMismatch(_) | MigrateError::Dirty(_) => StoreError::Damaged {
            message: error.to_string(),
        },
        error => StoreError::Other {
            message: error.to_string(),
        },
    }
}
