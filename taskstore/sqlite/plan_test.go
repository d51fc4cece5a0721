package sqlite

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

// openInternal opens a store and a connection beside it.
func openInternal(t testing.TB) (*Store, *conn) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tasks.db")
	s, err := Open(context.Background(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	c, err := dial(dsn(path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.close() })
	return s, c
}

// TestPlans sees to it that no statement reads a whole table or sorts: each must
// cost the same in a database of ten tasks and of ten million.
func TestPlans(t *testing.T) {
	_, c := openInternal(t)
	statements := map[string]string{
		"expire leases": sqlExpireLeases, "append": sqlAppend, "append log": sqlAppendLog, "held": sqlHeld,
		"swap": sqlSwap, "renew": sqlRenew, "discard": sqlDiscard, "prunable": sqlPrunable, "prune": sqlPrune,
		"delete events": sqlDeleteEvents, "delete snapshot": sqlDeleteSnapshot, "delete keys": sqlDeleteKeys,
		"key": sqlKey, "snapshot": sqlSnapshot, "events": sqlEvents, "open": sqlOpen, "last task": sqlLastTask,
		"task by id":    sqlTaskColumns + sqlWithEvents + sqlByScopedID,
		"stored by id":  sqlTaskColumns + sqlRunColumns + sqlWithEvents + sqlByID,
		"stored by row": sqlTaskColumns + sqlRunColumns + sqlWithEvents + sqlByNo,
	}
	after := " AND (status_at, id) < (?, ?) ORDER BY status_at DESC, id DESC LIMIT ?"
	for name, q := range map[string]taskstore.Query{
		"list": {}, "list by context": {ContextID: "c"}, "list by state": {State: a2a.StateFailed},
		"list by time": {StatusAfter: time.Now()}, "list by all": {ContextID: "c", State: a2a.StateFailed, StatusAfter: time.Now()},
	} {
		from, _ := selection(a2a.Scope{}, q)
		statements[name] = "SELECT no" + from + after
		statements["count: "+name] = "SELECT count(*)" + from
	}
	for name, statement := range statements {
		var plan []string
		values := make([]any, strings.Count(statement, "?"))
		err := c.query(context.Background(), func(r row) error { plan = append(plan, text(r[3])); return nil }, "EXPLAIN QUERY PLAN "+statement, values...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		all := strings.Join(plan, "; ")
		t.Logf("%-26s %s", name, all)
		switch name {
		case "expire leases", "renew": // the open runs are what they are about
			all = strings.ReplaceAll(all, "SCAN tasks USING INDEX tasks_open", "")
		case "open": // sorts the overdue pauses among the open runs
			all = strings.ReplaceAll(all, "USE TEMP B-TREE FOR ORDER BY", "")
		}
		if strings.Contains(all, "SCAN") || strings.Contains(all, "TEMP B-TREE") {
			t.Errorf("%s: the plan reads a table or sorts: %s", name, all)
		}
		if strings.HasPrefix(name, "count") && !strings.Contains(all, "COVERING INDEX") {
			t.Errorf("%s: counting reads rows: %s", name, all)
		}
	}
}
