package pending

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

// schema holds the migrations. They are numbered from 1 without gaps and only ever
// added; the number of the last one applied is the database's user_version.
//
//go:embed schema/*.sql
var schema embed.FS

// applicationID marks the file as a pending registry, so that the database of another
// program, a task store's for one, is not taken for it.
const applicationID = 0x736b7071

// prepare brings the file to the newest schema, and first of all turns on its
// write-ahead log, which stays on.
func prepare(ctx context.Context, db *sql.DB, busy time.Duration) error {
	files, err := fs.Glob(schema, "schema/*.sql") // sorted, and so in order
	if err != nil {
		return err
	}
	// One look without a lock is enough for nearly every start. It comes first, so that
	// nothing is done to the database of another program.
	if have, err := version(ctx, db); err != nil || have == len(files) {
		return err
	}
	// SQLite does not wait for a lock when the log is turned on and others are just
	// opening the file.
	deadline := time.Now().Add(busy)
	for {
		_, err := db.ExecContext(ctx, `PRAGMA journal_mode = WAL`)
		if err == nil {
			break
		}
		if !isBusy(err) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return transact(ctx, db, nil, func(t tx) error {
		have, err := version(ctx, t.Tx)
		if err != nil {
			return err
		}
		for ; have < len(files); have++ {
			step, err := schema.ReadFile(files[have])
			if err != nil {
				return err
			}
			if _, err := t.exec(string(step)); err != nil {
				return fmt.Errorf("apply schema version %d: %w", have+1, err)
			}
		}
		_, err = t.exec(fmt.Sprintf(`PRAGMA application_id = %d; PRAGMA user_version = %d`, applicationID, len(files)))
		return err
	})
}

// version returns the schema version that a file has, 0 if it is empty, and refuses
// what is no registry or is newer than this program.
func version(ctx context.Context, q interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}) (int, error) {
	var have, app, tables int
	err := q.QueryRowContext(ctx, `SELECT (SELECT user_version FROM pragma_user_version),
		(SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_schema)`).Scan(&have, &app, &tables)
	if err != nil {
		return 0, err
	}
	if app != applicationID && (app != 0 || have != 0 || tables != 0) {
		return 0, errors.New("the file is the database of another program: choose another path")
	}
	files, err := fs.Glob(schema, "schema/*.sql")
	if err != nil {
		return 0, err
	}
	if have > len(files) {
		return 0, fmt.Errorf("the file has schema version %d, this program knows versions up to %d: use a newer program", have, len(files))
	}
	return have, nil
}

func isBusy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == codes.SQLITE_BUSY
}
