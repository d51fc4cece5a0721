package pending

const (
	columns = `ref, task_id, agent_url, agent, context_id, skill, state, prompt, message_id, key, interface, event_id,
		created_at, polled_at, ended_at, polls, error, lost, question`

	sqlEntry = `SELECT ` + columns + `, answer, message FROM entries WHERE ref = ?`
	sqlLive  = `SELECT ` + columns + `, answer, message FROM entries WHERE ended_at = 0 AND task_id <> '' AND agent_url = ? AND task_id = ?`

	sqlInsert = `INSERT INTO entries (` + columns + `, answer, message)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	sqlUpdate = `UPDATE entries SET (` + columns + `, answer, message)
		= (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) WHERE ref = ?`
	sqlDelete = `DELETE FROM entries WHERE ref = ?`
	sqlPrune  = `DELETE FROM entries WHERE no IN (SELECT no FROM entries WHERE ended_at > 0 AND ended_at < ? ORDER BY ended_at LIMIT ?)`

	sqlRevision = `SELECT value FROM meta WHERE name = 'revision'`
	sqlRevise   = `UPDATE meta SET value = value + 1 WHERE name = 'revision'`
)

// The two halves of the table, in the words of the partial indexes.
const (
	isPending = `ended_at = 0`
	isEnded   = `ended_at > 0`
)

// sqlList begins a list, whose entries have no answers and no messages.
const sqlList = `SELECT ` + columns + `, NULL, NULL FROM entries WHERE `

func sqlPending(f Filter) string { return sqlList + isPending + f.where() + ` ORDER BY no DESC` }

func sqlNewest(f Filter) string {
	return sqlList + isPending + ` AND task_id <> ''` + f.where() + ` ORDER BY no DESC LIMIT 1`
}

func sqlHistory(f Filter) string {
	return sqlList + isEnded + f.where() + ` ORDER BY ended_at DESC, no DESC LIMIT ?`
}

// sqlByTask finds the last run of each task whose id lies in a range.
func sqlByTask(condition string, f Filter) string {
	return sqlList + `no IN (SELECT max(no) FROM entries WHERE ` + condition + ` AND task_id BETWEEN ? AND ?` + f.where() +
		` GROUP BY task_id, agent_url LIMIT ?)`
}

// sqlByRef finds the entries whose ref lies in a range. The plus keeps SQLite from
// reading the refs of the history for a pending one.
func sqlByRef(condition string, f Filter) string {
	ref := "ref"
	if condition == isPending {
		ref = "+ref"
	}
	return sqlList + condition + ` AND ` + ref + ` BETWEEN ? AND ?` + f.where() + ` ORDER BY ` + ref + ` LIMIT ?`
}

// where returns the conditions of a filter, each after an AND.
func (f Filter) where() string {
	s := ""
	if f.AgentURL != "" {
		s += ` AND agent_url = ?`
	}
	if f.Agent != "" {
		s += ` AND agent = ?`
	}
	if f.ContextID != "" {
		s += ` AND context_id = ?`
	}
	return s
}

// values returns the arguments of where.
func (f Filter) values() []any {
	var v []any
	for _, s := range []string{f.AgentURL, f.Agent, string(f.ContextID)} {
		if s != "" {
			v = append(v, s)
		}
	}
	return v
}
