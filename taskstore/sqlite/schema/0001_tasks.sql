-- What is kept once per database.
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- One small row per task: what is looked up, filtered, sorted or fenced. The
-- task itself is the fold of its events. Times are microseconds since 1970, UTC.
CREATE TABLE tasks (
    no           INTEGER PRIMARY KEY, -- in the order of submission, never used twice
    id           TEXT    NOT NULL UNIQUE,
    tenant       TEXT    NOT NULL,
    owner        TEXT    NOT NULL,
    context_id   TEXT    NOT NULL,
    state        INTEGER NOT NULL,    -- see stateCode
    status_at    INTEGER NOT NULL,
    seq          INTEGER NOT NULL,    -- of the last event
    snapshot_seq INTEGER NOT NULL,    -- of the last event folded into snapshots.body, 0 without one
    run_state    INTEGER NOT NULL,    -- taskstore.RunState
    holder       TEXT    NOT NULL,
    until        INTEGER NOT NULL,    -- end of the lease, or of the wait for an answer; 0 without
    fence        INTEGER NOT NULL,
    attempt      INTEGER NOT NULL,
    resume       BLOB
) STRICT;

-- Lists are read backwards; state is there so that counting needs no row.
CREATE INDEX tasks_by_status ON tasks (tenant, owner, status_at, id, state);
CREATE INDEX tasks_by_context ON tasks (tenant, owner, context_id, status_at, id, state);
CREATE INDEX tasks_open ON tasks (no) WHERE run_state IN (1, 2);
CREATE INDEX tasks_waiting ON tasks (until) WHERE run_state = 3 AND until > 0;
CREATE INDEX tasks_ended ON tasks (status_at) WHERE run_state = 0;

-- The log: one row per step, a JSON array of events. The key is the task's no in
-- the high bits and the last event's seq in the low 24, so that a task's log, or
-- the end of it, is one range of keys.
CREATE TABLE events (
    id   INTEGER PRIMARY KEY,
    body BLOB NOT NULL
) STRICT;

-- Folds of long logs, so that reads need not start at the first event.
CREATE TABLE snapshots (
    no   INTEGER PRIMARY KEY,
    body BLOB NOT NULL
) STRICT;

CREATE TABLE idempotency_keys (
    tenant      TEXT    NOT NULL,
    owner       TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    fingerprint TEXT    NOT NULL,
    no          INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_keys_by_task ON idempotency_keys (no);
