-- What is kept once: the number of changes.
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO meta (name, value) VALUES ('revision', 0);

-- One row per entry. Times are microseconds since 1970, UTC; 0 is never. The answer
-- comes last, so that reading the others does not read it.
CREATE TABLE entries (
    no         INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order of Begin
    ref        TEXT    NOT NULL UNIQUE,
    task_id    TEXT    NOT NULL,
    agent_url  TEXT    NOT NULL,
    agent      TEXT    NOT NULL,
    context_id TEXT    NOT NULL,
    skill      TEXT    NOT NULL,
    state      TEXT    NOT NULL,
    prompt     TEXT    NOT NULL,
    message_id TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    interface  BLOB,
    event_id   TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    polled_at  INTEGER NOT NULL,
    ended_at   INTEGER NOT NULL, -- 0 while pending
    polls      INTEGER NOT NULL,
    error      TEXT    NOT NULL,
    lost       INTEGER NOT NULL,
    question   TEXT    NOT NULL,
    answer     BLOB              -- a task as package taskstore writes it
) STRICT;

-- Pending entries are found without the history.
CREATE INDEX entries_pending ON entries (no) WHERE ended_at = 0;
CREATE UNIQUE INDEX entries_live ON entries (agent_url, task_id) WHERE ended_at = 0 AND task_id <> '';

-- The history is read backwards, with each filter.
CREATE INDEX entries_ended ON entries (ended_at) WHERE ended_at > 0;
CREATE INDEX entries_ended_url ON entries (agent_url, ended_at) WHERE ended_at > 0;
CREATE INDEX entries_ended_agent ON entries (agent, ended_at) WHERE ended_at > 0;
CREATE INDEX entries_ended_context ON entries (context_id, ended_at) WHERE ended_at > 0;

-- For ids and the beginnings of ids.
CREATE INDEX entries_task ON entries (task_id, agent_url) WHERE ended_at > 0;
