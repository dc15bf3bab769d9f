-- What hosts tell the owners of turns, until the sender has the reply.
CREATE TABLE commands (
    position {serial},
    id {name} NOT NULL UNIQUE,
    owner {name} NOT NULL,
    command TEXT NOT NULL,
    reply TEXT,
    -- By the clock of the database, in milliseconds since 1970.
    sent_at BIGINT NOT NULL
);

CREATE INDEX waiting_commands ON commands (owner, position) WHERE reply IS NULL;
