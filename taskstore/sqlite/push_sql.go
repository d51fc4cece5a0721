package sqlite

import "math"

// idle is the due time of a push config that has none: later than any other, so that
// looking for due ones ends before it.
const idle = math.MaxInt64

const (
	sqlPushTask = `SELECT no, seq, run_state FROM tasks WHERE id = ? AND tenant = ? AND owner = ?`

	// All of a task, since they are few.
	sqlPushIDs    = `SELECT id FROM pushes WHERE task_no = ?`
	sqlPushBodies = `SELECT t.no, p.body FROM tasks t LEFT JOIN pushes p ON p.task_no = t.no
		WHERE t.id = ? AND t.tenant = ? AND t.owner = ? ORDER BY p.no`

	sqlPutPush = `INSERT INTO pushes (task_no, id, body, state, cursor, due, attempts, last_error, fence)
		VALUES (?, ?, ?, ?, ?, ?, 0, '', 1) ON CONFLICT (task_no, id) DO UPDATE SET body = excluded.body,
		state = excluded.state, cursor = excluded.cursor, due = excluded.due, attempts = 0, last_error = '', fence = fence + 1`
	sqlDeletePush       = `DELETE FROM pushes WHERE task_no = ? AND id = ?`
	sqlDeleteDeadPushes = `DELETE FROM dead_pushes WHERE task_no = ? AND config = ?`
	sqlDeletePushes     = `DELETE FROM pushes WHERE task_no = ?`
	sqlDeleteAllDead    = `DELETE FROM dead_pushes WHERE task_no = ?`

	sqlJobColumns = `SELECT p.no, p.fence, p.state, p.cursor, p.due, p.attempts, p.last_error, p.body, t.seq, t.tenant, t.owner`

	// The index of due times ends the search for due ones where the idle ones begin.
	sqlDuePushes = sqlJobColumns + ` FROM pushes p INDEXED BY pushes_due CROSS JOIN tasks t ON t.no = p.task_no
		WHERE p.state IN (0, 2) AND p.state = 0 AND p.due <= ? AND p.cursor < t.seq ORDER BY p.due, p.no LIMIT ?`
	sqlDuePushesOf = sqlJobColumns + ` FROM tasks t CROSS JOIN pushes p ON p.task_no = t.no
		WHERE t.id = ? AND p.state = 0 AND (p.due <= ? OR p.due = 9223372036854775807) AND p.cursor < t.seq
		ORDER BY p.due, p.no LIMIT ?`
	sqlPushTasks = sqlJobColumns + ` FROM pushes p INDEXED BY pushes_active CROSS JOIN tasks t ON t.no = p.task_no
		WHERE p.state = 0 AND p.no > ? ORDER BY p.no LIMIT ?`
	sqlPushing = sqlJobColumns + ` FROM pushes p INDEXED BY pushes_due CROSS JOIN tasks t ON t.no = p.task_no
		WHERE p.state IN (0, 2) ORDER BY p.due, p.no LIMIT ?`

	sqlClaimPush = `UPDATE pushes SET due = ?, fence = fence + 1 WHERE no = ?`

	sqlClaimedPush = `SELECT p.cursor, t.seq, t.run_state, p.task_no, p.id FROM pushes p JOIN tasks t ON t.no = p.task_no
		WHERE p.no = ? AND p.fence = ?`
	sqlKeepPush   = `UPDATE pushes SET cursor = ?, attempts = ?, last_error = ? WHERE no = ?`
	sqlSettlePush = `UPDATE pushes SET cursor = ?, attempts = ?, last_error = ?, state = ?, due = ?, fence = fence + 1 WHERE no = ?`

	// A new revision makes those due that nobody looks at: the idle and the done ones.
	sqlResumePushes = `UPDATE pushes SET state = 0, due = 0, attempts = 0, last_error = '', fence = fence + 1
		WHERE task_no = ? AND state IN (0, 1) AND due = 9223372036854775807`

	// A process that died may have left claims of configs that have caught up.
	sqlEndPushes = `UPDATE pushes SET due = 9223372036854775807, fence = fence + 1,
		state = (SELECT iif(run_state = 0, 1, 0) FROM tasks WHERE no = task_no)
		WHERE state IN (0, 2) AND state = 0 AND due < 9223372036854775807
		AND cursor = (SELECT seq FROM tasks WHERE no = task_no)`

	sqlPutDead = `INSERT INTO dead_pushes (task_no, config, url, seq, at, attempts, reason) VALUES (?, ?, ?, ?, ?, ?, ?)`

	sqlDeadColumns  = `SELECT t.id, d.config, d.url, d.seq, d.at, d.attempts, d.reason`
	sqlDeadPushes   = sqlDeadColumns + ` FROM dead_pushes d CROSS JOIN tasks t ON t.no = d.task_no ORDER BY d.no DESC LIMIT ?`
	sqlDeadPushesOf = sqlDeadColumns + ` FROM tasks t CROSS JOIN dead_pushes d ON d.task_no = t.no
		WHERE t.id = ? ORDER BY d.no DESC LIMIT ?`

	sqlRevivable = `SELECT p.no, p.id, p.cursor, p.state, t.no, t.seq, t.run_state,
		(SELECT min(d.seq) FROM dead_pushes d WHERE d.task_no = p.task_no AND d.config = p.id)
		FROM tasks t JOIN pushes p ON p.task_no = t.no WHERE t.id = ?1 AND (?2 = '' OR p.id = ?2)`
)
