package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
)

// schema holds the migrations. They are numbered from 1 without gaps and only ever
// added; the number of the last one applied is the database's user_version.
//
//go:embed schema/*.sql
var schema embed.FS

// migrate brings the database to the newest schema, each migration in a transaction
// of its own. A database that is newer than that is refused: this program does not
// know what it would break. The file's lock is held, so nobody else migrates.
//
// A migration library would do the same and cost half a megabyte of the program.
func migrate(ctx context.Context, dsn string) error {
	return withVersions(ctx, dsn, func(c *conn, have int64, steps []string) error {
		want := int64(len(steps))
		if have > want {
			return fmt.Errorf("the database has schema version %d, this program knows versions up to %d: use a newer program", have, want)
		}
		for version := have + 1; version <= want; version++ {
			if err := apply(c, steps[version-1], version); err != nil {
				return fmt.Errorf("apply schema version %d: %w", version, err)
			}
		}
		return nil
	})
}

// apply runs one migration whole or not at all.
func apply(c *conn, step string, version int64) error {
	for _, query := range []string{"BEGIN IMMEDIATE", step, fmt.Sprintf("PRAGMA user_version = %d", version), "COMMIT"} {
		if _, err := c.exec(query); err != nil {
			_, rollback := c.exec("ROLLBACK")
			return errors.Join(err, rollback)
		}
	}
	return nil
}

// checkSchema refuses a database that does not have the schema of this program.
func checkSchema(ctx context.Context, dsn string) error {
	return withVersions(ctx, dsn, func(_ *conn, have int64, steps []string) error {
		if want := int64(len(steps)); have != want {
			return fmt.Errorf("the database has schema version %d, this program needs %d: use the program that serves it", have, want)
		}
		return nil
	})
}

// withVersions calls f with a connection, the schema version that the database has,
// and the migrations in order.
func withVersions(ctx context.Context, dsn string, f func(c *conn, have int64, steps []string) error) (err error) {
	c, err := dial(dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	var have int64
	err = c.query(ctx, func(r row) error { have = integer(r[0]); return nil }, "PRAGMA user_version")
	if err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	files, err := fs.Glob(schema, "schema/*.sql") // sorted, and so in order
	if err != nil {
		return err
	}
	steps := make([]string, len(files))
	for i, name := range files {
		b, err := schema.ReadFile(name)
		if err != nil {
			return err
		}
		steps[i] = string(b)
	}
	return f(c, have, steps)
}
