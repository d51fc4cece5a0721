package sqlite

import (
	"time"

	"github.com/skillyard/skillyard/a2a"
)

const (
	sqlInitSecret   = `INSERT INTO meta (name, value) VALUES ('secret', ?) ON CONFLICT DO NOTHING`
	sqlSecret       = `SELECT value FROM meta WHERE name = 'secret'`
	sqlProbe        = `UPDATE meta SET value = value WHERE name = 'secret'`
	sqlLastTask     = `SELECT coalesce(max(no), 0) FROM tasks`
	sqlExpireLeases = `UPDATE tasks SET until = 0 WHERE run_state IN (1, 2) AND run_state = 2`

	sqlInsertTask = `INSERT INTO tasks (no, id, tenant, owner, context_id, state, status_at, seq, snapshot_seq,
		run_state, holder, until, fence, attempt, resume)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`
	sqlInsertEvents = `INSERT INTO events (id, body) VALUES (?, ?)`
	sqlPutSnapshot  = `INSERT INTO snapshots (no, body) VALUES (?, ?) ON CONFLICT (no) DO UPDATE SET body = excluded.body`

	sqlKey       = `SELECT fingerprint, no FROM idempotency_keys WHERE tenant = ? AND owner = ? AND key = ?`
	sqlInsertKey = `INSERT INTO idempotency_keys (tenant, owner, key, fingerprint, no) VALUES (?, ?, ?, ?, ?)`

	sqlKeepKey = `INSERT INTO idempotency_keys (tenant, owner, key, fingerprint, no)
		SELECT tenant, owner, ?, ?, no FROM tasks WHERE no = ? ON CONFLICT DO NOTHING`

	// A step that changes neither status nor run touches no index.
	sqlAppendLog = `UPDATE tasks SET seq = coalesce(?, seq), snapshot_seq = coalesce(?, snapshot_seq), resume = coalesce(?, resume)
		WHERE no = ? AND fence = ? AND run_state = 2 AND seq = coalesce(?, seq)`
	sqlAppend = `UPDATE tasks SET seq = coalesce(?, seq), snapshot_seq = coalesce(?, snapshot_seq), resume = coalesce(?, resume),
		state = coalesce(?, state), status_at = coalesce(?, status_at), run_state = ?,
		holder = iif(? = 2, holder, ''), until = iif(? = 2, until, ?)
		WHERE no = ? AND fence = ? AND run_state = 2 AND seq = coalesce(?, seq)`
	sqlHeld = `SELECT seq FROM tasks WHERE no = ? AND fence = ? AND run_state = 2`

	// An Update or Claim goes through if nothing it was decided on has changed.
	sqlSwap = `UPDATE tasks SET context_id = ?, state = ?, status_at = ?, seq = ?, snapshot_seq = coalesce(?, snapshot_seq),
		run_state = ?, holder = ?, until = ?, fence = fence + 1, attempt = ?, resume = ?
		WHERE no = ? AND fence = ? AND seq = ? AND run_state = ? AND until = ? AND resume IS ?`

	sqlRenew    = `UPDATE tasks SET until = ? WHERE run_state IN (1, 2) AND run_state = 2 AND holder = ?`
	sqlEndLease = `UPDATE tasks SET until = 0 WHERE no = ? AND fence = ? AND run_state = 2`

	sqlDiscard        = `DELETE FROM tasks WHERE no = ? AND fence = ? AND run_state = 2`
	sqlPrunable       = `SELECT no FROM tasks WHERE run_state = 0 AND status_at < ?` + sqlDelivered + ` ORDER BY status_at LIMIT ?`
	sqlPrune          = `DELETE FROM tasks WHERE no = ? AND run_state = 0 AND status_at < ?` + sqlDelivered
	sqlDelivered      = ` AND NOT EXISTS (SELECT 1 FROM pushes WHERE task_no = tasks.no AND pushes.state = 0 AND cursor < seq)`
	sqlDeleteEvents   = `DELETE FROM events WHERE id > ? AND id < ?`
	sqlDeleteSnapshot = `DELETE FROM snapshots WHERE no = ?`
	sqlDeleteKeys     = `DELETE FROM idempotency_keys WHERE no = ?`

	// A task with the events that are not in its snapshot: a row per step, or one
	// with a null body.
	sqlTaskColumns = `SELECT t.no, t.seq, t.snapshot_seq, e.body`
	sqlRunColumns  = `, t.tenant, t.owner, t.run_state, t.holder, t.until, t.fence, t.attempt, t.resume`
	sqlWithEvents  = ` FROM tasks t LEFT JOIN events e ON e.id > (t.no << 24 | t.snapshot_seq) AND e.id < (t.no + 1) << 24`
	sqlByID        = ` WHERE t.id = ? ORDER BY e.id`
	sqlByScopedID  = ` WHERE t.id = ? AND t.tenant = ? AND t.owner = ? ORDER BY e.id`
	sqlByNo        = ` WHERE t.no = ? ORDER BY e.id`
	sqlSnapshot    = `SELECT body FROM snapshots WHERE no = ?`

	sqlEvents = `SELECT e.body FROM tasks t LEFT JOIN events e ON e.id > (t.no << 24 | ?) AND e.id < (t.no + 1) << 24
		WHERE t.id = ? AND t.tenant = ? AND t.owner = ? ORDER BY e.id LIMIT ?`

	sqlOpen = `SELECT no FROM tasks INDEXED BY tasks_open
		WHERE run_state IN (1, 2) AND no > ?1 AND (run_state = 1 OR until < ?2)
		UNION ALL
		SELECT no FROM tasks INDEXED BY tasks_waiting
		WHERE run_state = 3 AND until > 0 AND until < ?2 AND no > ?1
		ORDER BY no LIMIT ?3`
)

// maxSeq is the largest event number that fits into the low bits of events.id.
const maxSeq = 1<<24 - 1

// eventsKey is the key of the step that ends with event seq.
func eventsKey(no, seq int64) int64 { return no<<24 | seq }

// stateCode is the stored form of a state. The numbers must not change.
func stateCode(s a2a.State) int64 {
	switch s {
	case a2a.StateSubmitted:
		return 1
	case a2a.StateWorking:
		return 2
	case a2a.StateCompleted:
		return 3
	case a2a.StateFailed:
		return 4
	case a2a.StateCanceled:
		return 5
	case a2a.StateInputRequired:
		return 6
	case a2a.StateRejected:
		return 7
	case a2a.StateAuthRequired:
		return 8
	}
	return 0 // no task has it
}

// micros is the stored form of a time. The zero time is 0.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func timeOf(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}
