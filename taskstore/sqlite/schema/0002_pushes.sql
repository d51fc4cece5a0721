-- Push configs. What is to be delivered is the task's log behind the cursor.
CREATE TABLE pushes (
    no         INTEGER PRIMARY KEY AUTOINCREMENT, -- never used twice, so that an old claim fits no new row
    task_no    INTEGER NOT NULL,
    id         TEXT    NOT NULL,
    body       BLOB    NOT NULL, -- a2a.PushConfig as JSON, with its secrets
    state      INTEGER NOT NULL, -- taskstore.PushState
    cursor     INTEGER NOT NULL, -- seq of the last event dealt with
    due        INTEGER NOT NULL, -- when it may be claimed, 0 for at once; the largest integer when it is idle
    attempts   INTEGER NOT NULL,
    last_error TEXT    NOT NULL,
    fence      INTEGER NOT NULL, -- grows with every change of hands
    UNIQUE (task_no, id)
) STRICT;

CREATE INDEX pushes_due ON pushes (due) WHERE state IN (0, 2);
CREATE INDEX pushes_active ON pushes (no) WHERE state = 0;

-- Deliveries that were given up, in the order in which that happened.
CREATE TABLE dead_pushes (
    no       INTEGER PRIMARY KEY,
    task_no  INTEGER NOT NULL,
    config   TEXT    NOT NULL,
    url      TEXT    NOT NULL,
    seq      INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    reason   TEXT    NOT NULL
) STRICT;

CREATE INDEX dead_pushes_by_task ON dead_pushes (task_no);
