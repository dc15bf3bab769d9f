//! Every write to the tables of a PostgreSQL store, in order: which host wrote it, and for which claim of the turn.
//!
//! A trigger notes each row that is written, in the transaction that writes it. The writer of a turn holds the lock of
//! that turn's row to the end of the transaction, so the numbers of the notes are the order of its writes.

use sqlx::Row;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use stepwell_io::store::{PostgresOptions, PostgresStore};

/// Notes are not a turn's own: any host may note what a user has seen, and complete the log of a turn that is over.
/// Both change nothing that the turn's owner decides.
const NOTES: &str = "
CREATE TABLE writes (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    backend INTEGER NOT NULL DEFAULT pg_backend_pid(),
    host TEXT NOT NULL DEFAULT current_setting('application_name'),
    what TEXT NOT NULL,
    turn_id BIGINT NOT NULL,
    generation BIGINT NOT NULL,
    is_anybodys BOOLEAN NOT NULL
);
CREATE FUNCTION note_write() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    written JSONB := to_jsonb(NEW);
    turn BIGINT;
    stands RECORD;
    is_seen BOOLEAN;
BEGIN
    IF TG_OP = 'DELETE' THEN
        written := to_jsonb(OLD);
    END IF;
    turn := COALESCE(written ->> 'turn_id', written ->> 'id');
    SELECT generation, status INTO stands FROM turn_states WHERE turn_id = turn;
    is_seen := TG_OP = 'UPDATE' AND TG_TABLE_NAME = 'turn_states'
        AND written - 'acknowledged' = to_jsonb(OLD) - 'acknowledged';
    INSERT INTO writes (what, turn_id, generation, is_anybodys) VALUES (
        TG_OP || ' ' || TG_TABLE_NAME, turn, COALESCE(stands.generation, 1),
        is_seen OR (stands.status <> 'streaming' AND (TG_TABLE_NAME = 'events'
            OR TG_TABLE_NAME = 'turn_states' AND to_jsonb(OLD) ->> 'status' <> 'streaming'))
    );
    RETURN NULL;
END $$;
";

/// The name of its connections: what ends the hosts' leaves them alone.
const OWN: &str = "audit";

/// The tables of turns. A thread also has a title and a time.
const TABLES: [&str; 4] = ["turns", "turn_states", "blocks", "events"];

/// An observer of a schema's writes.
pub(crate) struct Audit {
    pool: PgPool,
    url: String,
    schema: String,
}

/// One row that was written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Write {
    /// In seconds from the first of all.
    pub(crate) at: f64,
    pub(crate) host: String,
    /// Its thread's id and its own.
    pub(crate) turn: String,
    /// The claims that the turn has had by then, its beginning among them.
    pub(crate) generation: i64,
    pub(crate) what: String,
    /// Whether any host may write the row.
    pub(crate) is_anybodys: bool,
}

impl fmt::Display for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            at,
            host,
            turn,
            generation,
            what,
            ..
        } = self;
        write!(
            f,
            "{at:8.3} s  {host}, claim {generation} of {turn}: {what}"
        )
    }
}

/// The summary of the writes of all turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Judged {
    pub(crate) writes: usize,
    pub(crate) turns: usize,
    /// The number of times that a turn has gone from one host to another: the total, and the maximum of one turn.
    pub(crate) handed_on: usize,
    pub(crate) most: usize,
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            writes,
            turns,
            handed_on,
            most,
        } = self;
        write!(
            f,
            "{writes} writes of {turns} turns in order: {handed_on} times from one host to another, of one turn up to \
             {most} times, and none of the old one after the new one's first"
        )
    }
}

impl Audit {
    /// Makes the schema with its tables, and watches it from now on.
    pub(crate) async fn start(url: &str, schema: &str) -> Self {
        let mut options = PostgresOptions::default();
        options.schema = Some(schema.to_owned());
        let store = PostgresStore::connect_with(url, options).await;
        store.expect("a store").close().await;
        let options = PgConnectOptions::from_str(url).expect("an address");
        let options = options.options([("search_path", schema)]);
        let options = options.application_name(OWN);
        let pool = PgPoolOptions::new().max_connections(2);
        let pool = pool.connect_with(options).await.expect("the server");
        let triggers = TABLES.map(|table| {
            format!(
                "CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON {table} \
                 FOR EACH ROW EXECUTE FUNCTION note_write();"
            )
        });
        let sql = format!("{NOTES}{}", triggers.concat());
        let watched = sqlx::raw_sql(&sql).execute(&pool).await;
        watched.expect("it is watched");
        Self {
            pool,
            url: url.to_owned(),
            schema: schema.to_owned(),
        }
    }

    /// The store's address for a host, whose name is that of its connections.
    pub(crate) fn store(&self, host: &str) -> String {
        self.store_at(&self.url, host)
    }

    /// The same by another way to the server.
    pub(crate) fn store_at(&self, url: &str, host: &str) -> String {
        let sign = if url.contains('?') { '&' } else { '?' };
        format!(
            "{url}{sign}options[search_path]={}&application_name={host}",
            self.schema
        )
    }

    /// Ends the connections of a host, or all but this one's.
    pub(crate) async fn end_connections(&self, host: Option<&str>) {
        let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() \
                   AND application_name <> $1 AND ($2 IS NULL OR application_name = $2)";
        let ended = sqlx::query(sql).bind(OWN).bind(host);
        ended.execute(&self.pool).await.expect("they are ended");
    }

    /// Waits until the number of hosts that hold a lease is such a one.
    pub(crate) async fn lives(&self, is_awaited: impl Fn(usize) -> bool) {
        let sql = "SELECT count(DISTINCT owner) FROM leases \
                   WHERE expires_at > extract(epoch FROM clock_timestamp()) * 1000";
        loop {
            let count = sqlx::query_scalar(sql).fetch_one(&self.pool).await;
            let count: i64 = count.expect("a number");
            if is_awaited(count as usize) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Returns the last writer of a turn that is under way.
    pub(crate) async fn last_writer(&self) -> Option<String> {
        let sql = "SELECT w.host FROM writes w JOIN turn_states s ON s.turn_id = w.turn_id \
                   WHERE s.status = 'streaming' AND NOT w.is_anybodys ORDER BY w.number DESC LIMIT 1";
        let writer = sqlx::query_scalar(sql).fetch_optional(&self.pool).await;
        writer.expect("a name, or none")
    }

    /// All writes of the turns that are there.
    pub(crate) async fn writes(&self) -> Vec<Write> {
        let sql = "SELECT CAST(extract(epoch FROM w.at - min(w.at) OVER ()) AS DOUBLE PRECISION), w.host, \
                   h.thread || '/' || t.run_id, w.generation, w.what, w.is_anybodys FROM writes w \
                   JOIN turns t ON t.id = w.turn_id JOIN threads h ON h.id = t.thread_id ORDER BY w.number";
        let rows = sqlx::query(sql).fetch_all(&self.pool).await;
        let rows = rows.expect("the notes").into_iter().map(|row| Write {
            at: row.get(0),
            host: row.get(1),
            turn: row.get(2),
            generation: row.get(3),
            what: row.get(4),
            is_anybodys: row.get(5),
        });
        rows.collect()
    }
}

/// Each claim of a turn has one host that writes, so the one before writes nothing after the next one's first.
pub(crate) fn judge(writes: &[Write]) -> Result<Judged, String> {
    let mut turns: BTreeMap<&str, (i64, &str)> = BTreeMap::new();
    let mut handed_on: BTreeMap<&str, usize> = BTreeMap::new();
    for write in writes.iter().filter(|write| !write.is_anybodys) {
        let now = (write.generation, &*write.host);
        let before = turns.insert(&write.turn, now);
        let Some((generation, host)) = before else {
            continue;
        };
        if write.generation < generation || write.generation == generation && write.host != host {
            let of_turn = writes.iter().filter(|other| other.turn == write.turn);
            let of_turn: Vec<_> = of_turn.map(ToString::to_string).collect();
            return Err(format!(
                "{write}: {host} has written for claim {generation} before:\n{}",
                of_turn.join("\n")
            ));
        }
        *handed_on.entry(&write.turn).or_default() += usize::from(write.host != host);
    }
    Ok(Judged {
        writes: writes.len(),
        turns: turns.len(),
        handed_on: handed_on.values().sum(),
        most: handed_on.into_values().max().unwrap_or_default(),
    })
}

#[test]
fn a_write_of_the_old_owner_after_the_new_ones_first_is_found() {
    let write = |host: &str, generation| Write {
        at: 0.0,
        host: host.to_owned(),
        turn: "r".to_owned(),
        generation,
        what: "INSERT events".to_owned(),
        is_anybodys: false,
    };
    let mut writes = vec![write("one", 1), write("one", 2), write("two", 3)];
    let judged = Judged {
        writes: 3,
        turns: 1,
        handed_on: 1,
        most: 1,
    };
    assert_eq!(judge(&writes), Ok(judged));
    writes.push(write("one", 3));
    let said = judge(&writes).unwrap_err();
    assert!(
        said.contains("two has written for claim 3 before"),
        "{said}"
    );
    // Any host may note what a user has seen.
    writes[3].is_anybodys = true;
    assert!(judge(&writes).is_ok());
}
