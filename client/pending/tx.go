package pending

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/taskstore"
)

// tx is one transaction. It ends with the context it was begun with; its statements
// are short and are not interrupted.
type tx struct{ *sql.Tx }

// transact runs f in one transaction, which is committed if f has no error. Without
// options it may write, and holds the file's write lock from its beginning.
func transact(ctx context.Context, db *sql.DB, o *sql.TxOptions, f func(t tx) error) error {
	t, err := db.BeginTx(ctx, o)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if isBusy(err) {
		return fmt.Errorf("other processes keep the file locked, try again: %w", err)
	}
	if err != nil {
		return err
	}
	err = f(tx{t})
	if err == nil {
		err = t.Commit()
	}
	if errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil {
		return context.Cause(ctx) // which ended the transaction from outside
	}
	if err != nil {
		if undo := t.Rollback(); undo != nil && !errors.Is(undo, sql.ErrTxDone) {
			return errors.Join(err, undo)
		}
	}
	return err
}

// read runs f on one state of the file.
func (r *Registry) read(ctx context.Context, f func(t tx) error) error {
	return transact(ctx, r.db, &sql.TxOptions{ReadOnly: true}, f)
}

// write runs f and counts the change.
func (r *Registry) write(ctx context.Context, f func(t tx) error) error {
	return transact(ctx, r.db, nil, func(t tx) error {
		if err := f(t); err != nil {
			return err
		}
		_, err := t.exec(sqlRevise)
		return err
	})
}

// change lets f change the entry with the given ref, or put another in its place, and
// returns what is stored then.
func (r *Registry) change(ctx context.Context, what, ref string, f func(t tx, e *Entry) error) (Entry, error) {
	var e Entry
	err := r.write(ctx, func(t tx) (err error) {
		if e, err = t.entry(ref); err != nil {
			return err
		}
		if err := f(t, &e); err != nil {
			return err
		}
		return t.update(e)
	})
	if err != nil {
		return Entry{}, wrap(what, err)
	}
	return e, nil
}

func (t tx) exec(query string, values ...any) (int, error) {
	res, err := t.Exec(query, values...)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}

// entry returns the entry with the given ref, or ErrNone.
func (t tx) entry(ref string) (Entry, error) {
	e, err := scan(t.QueryRow(sqlEntry, ref).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNone
	}
	return e, err
}

// live returns the pending entry of a task, if there is one.
func (t tx) live(agentURL string, id a2a.TaskID) (Entry, bool, error) {
	e, err := scan(t.QueryRow(sqlLive, agentURL, id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return Entry{}, false, nil
	}
	return e, err == nil, err
}

func (t tx) list(query string, values ...any) ([]Entry, error) {
	rows, err := t.Query(query, values...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() // Err tells what Close would
	var list []Entry
	for rows.Next() {
		e, err := scan(rows.Scan)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, rows.Err()
}

func (t tx) insert(e Entry) (Entry, error) {
	values, err := e.values()
	if err != nil {
		return Entry{}, err
	}
	_, err = t.exec(sqlInsert, values...)
	return e, err
}

func (t tx) update(e Entry) error {
	values, err := e.values()
	if err != nil {
		return err
	}
	_, err = t.exec(sqlUpdate, append(values, e.Ref)...)
	return err
}

func (t tx) delete(ref string) error {
	_, err := t.exec(sqlDelete, ref)
	return err
}

// values returns an entry as a row, in the order of columns.
func (e Entry) values() ([]any, error) {
	var answer []byte
	if e.Answer != nil {
		var err error
		if answer, err = taskstore.EncodeTask(e.Answer); err != nil {
			return nil, err
		}
	}
	return []any{
		e.Ref, e.TaskID, e.AgentURL, e.Agent, e.ContextID, e.Skill, e.State, e.Prompt, e.MessageID, e.Key, []byte(e.Interface), e.EventID,
		micros(e.CreatedAt), micros(e.LastPolledAt), micros(e.EndedAt), e.PollCount, e.LastError, e.Lost, e.Question, answer, []byte(e.Message),
	}, nil
}

// scan reads a row of columns, an answer and a message.
func scan(into func(...any) error) (Entry, error) {
	var e Entry
	var iface, answer, message []byte
	var created, polled, ended int64
	err := into(&e.Ref, &e.TaskID, &e.AgentURL, &e.Agent, &e.ContextID, &e.Skill, &e.State, &e.Prompt, &e.MessageID, &e.Key, &iface, &e.EventID,
		&created, &polled, &ended, &e.PollCount, &e.LastError, &e.Lost, &e.Question, &answer, &message)
	if err != nil {
		return Entry{}, err
	}
	e.Interface, e.Message = iface, message
	e.CreatedAt, e.LastPolledAt, e.EndedAt = moment(created), moment(polled), moment(ended)
	if answer != nil {
		e.Answer, err = taskstore.DecodeTask(answer)
	}
	return e, err
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func moment(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}
