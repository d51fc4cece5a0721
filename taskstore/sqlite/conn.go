package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
)

// conn is one connection to the database with its prepared statements. It is
// used by one goroutine at a time.
//
// It stands on the driver itself and not on database/sql: every connection here
// has one owner, so that a pool with its locks and conversions would only cost
// time in the writer, where the whole program waits for it.
type conn struct {
	driver.Conn
	stmts map[string]driver.Stmt // by their text
	args  []driver.NamedValue    // used again by every call
}

// dsn names the database file for the driver, pragmas run on every connection.
func dsn(path string, pragmas ...string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/… on Windows
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: url.Values{"_pragma": pragmas}.Encode()}
	return u.String()
}

func dial(dsn string) (*conn, error) {
	c, err := new(sqlite.Driver).Open(dsn)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, stmts: map[string]driver.Stmt{}}, nil
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.Conn.Close())...)
}

func (c *conn) prepare(query string, values []any) (driver.Stmt, error) {
	c.args = c.args[:0]
	for i, v := range values {
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	if s, ok := c.stmts[query]; ok {
		return s, nil
	}
	s, err := c.Prepare(query)
	if err != nil {
		return nil, fmt.Errorf("prepare %q: %w", query, err)
	}
	c.stmts[query] = s
	return s, nil
}

// exec runs a statement and returns how many rows it changed. Values are int64,
// string, []byte or nil.
func (c *conn) exec(query string, values ...any) (int64, error) {
	s, err := c.prepare(query, values)
	if err != nil {
		return 0, err
	}
	res, err := s.(driver.StmtExecContext).ExecContext(context.Background(), c.args)
	clear(c.args) // bodies may be large
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// query calls each with every row; each must not keep the slice. An error of
// each ends the query and is returned.
func (c *conn) query(ctx context.Context, each func(row []driver.Value) error, query string, values ...any) error {
	s, err := c.prepare(query, values)
	if err != nil {
		return err
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(ctx, c.args)
	clear(c.args)
	if err != nil {
		return err
	}
	row := make([]driver.Value, len(rows.Columns()))
	for {
		switch err := rows.Next(row); {
		case err == io.EOF:
			return rows.Close()
		case err != nil:
			return errors.Join(err, rows.Close())
		}
		if err := each(row); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
}

// The columns of a row: integers are int64; text is a string; an empty or null
// blob is nil.

func integer(v driver.Value) int64 { n, _ := v.(int64); return n }

func text(v driver.Value) string { s, _ := v.(string); return s }

func blob(v driver.Value) []byte { b, _ := v.([]byte); return b }
