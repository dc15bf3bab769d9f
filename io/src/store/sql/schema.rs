//! The schema: one for all databases, by migrations.

/// The words that differ between databases, in the schema and in statements.
#[derive(Clone, Copy, Debug)]
pub struct SqlWords {
    /// A primary key that the database counts up.
    pub serial: &'static str,
    /// A primary key that is given.
    pub key: &'static str,
    /// A text that is compared byte by byte.
    pub name: &'static str,
    /// A table of small rows that lies in the order of its key.
    pub clustered: &'static str,
    /// The end of a `SELECT` whose rows (of the table `s`) no other transaction may change before this one is over.
    pub locked: &'static str,
    /// The database's own clock, in milliseconds since 1970.
    pub now: &'static str,
}

/// A step of the schema.
#[derive(Clone, Copy, Debug)]
pub(super) struct Migration {
    pub(super) version: i64,
    #[cfg(feature = "postgres")]
    pub(super) name: &'static str,
    sql: &'static str,
}

impl Migration {
    /// Returns its statements in the words of a database.
    pub(super) fn sql(&self, words: SqlWords) -> String {
        let sql = self.sql.replace("{serial}", words.serial);
        let sql = sql.replace("{key}", words.key);
        let sql = sql.replace("{name}", words.name);
        sql.replace("{clustered}", words.clustered)
    }
}

/// The migrations, in the order of their versions.
pub(super) const MIGRATIONS: &[Migration] = &[
    Migration {
        version: 1,
        #[cfg(feature = "postgres")]
        name: "turns",
        sql: include_str!("../../../migrations/0001_turns.sql"),
    },
    Migration {
        version: 2,
        #[cfg(feature = "postgres")]
        name: "commands",
        sql: include_str!("../../../migrations/0002_commands.sql"),
    },
    Migration {
        version: 3,
        #[cfg(feature = "postgres")]
        name: "ended turns",
        sql: include_str!("../../../migrations/0003_ended_turns.sql"),
    },
];
