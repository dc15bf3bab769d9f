-- The words in braces differ between the databases: see src/store/sql/schema.rs.
-- A migration that was released is never changed: a later one follows it.

CREATE TABLE threads (
    id {serial},
    server {name} NOT NULL,
    room {name} NOT NULL,
    thread {name} NOT NULL,
    title TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (server, room, thread)
);

CREATE INDEX threads_by_use ON threads (updated_at DESC, server, room, thread);

-- What is written once of a turn.
CREATE TABLE turns (
    id {serial},
    thread_id BIGINT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    run_id {name} NOT NULL,
    -- A run id of the same thread. Turns are deleted with their thread alone.
    parent {name},
    -- A message as JSON.
    message TEXT,
    -- The conversation before the turn as JSON, where no turns give it.
    history TEXT,
    created_at BIGINT NOT NULL,
    UNIQUE (thread_id, run_id)
);

-- What changes: apart, so that a change does not write the message again.
CREATE TABLE turn_states (
    turn_id {key} REFERENCES turns (id) ON DELETE CASCADE,
    thread_id BIGINT NOT NULL,
    -- streaming, complete, failed, cancelled
    status TEXT NOT NULL,
    -- An outcome as JSON.
    outcome TEXT,
    owner {name} NOT NULL,
    generation BIGINT NOT NULL,
    -- The number of blocks.
    blocks BIGINT NOT NULL,
    -- The last event that the person has seen.
    acknowledged BIGINT,
    updated_at BIGINT NOT NULL,
    -- What the run of an unfinished turn comes back from, with its blocks.
    checkpoint TEXT
);

CREATE UNIQUE INDEX one_unfinished_turn ON turn_states (thread_id) WHERE status = 'streaming';

CREATE INDEX unfinished_turns ON turn_states (owner) WHERE status = 'streaming';

-- Which owners of turns are alive.
CREATE TABLE leases (
    owner {name} NOT NULL,
    -- An owner may hold several.
    id {name} NOT NULL,
    -- By the clock of the database, in milliseconds since 1970.
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (owner, id)
);

CREATE TABLE blocks (
    turn_id BIGINT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    sequence BIGINT NOT NULL,
    -- A block as JSON.
    block TEXT NOT NULL,
    stored_at BIGINT NOT NULL,
    PRIMARY KEY (turn_id, sequence)
);

CREATE TABLE events (
    turn_id BIGINT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (turn_id, position)
) {clustered};
