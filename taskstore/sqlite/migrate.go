package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver of the migrations
)

// schema holds the migrations. They are numbered and only ever added.
//
//go:embed schema/*.sql
var schema embed.FS

// migrate brings the database to the newest schema. A database that is newer
// than that is refused: this program does not know what it would break.
func migrate(ctx context.Context, dsn string) error {
	return withProvider(ctx, dsn, func(p *goose.Provider, have, want int64) error {
		if have > want {
			return fmt.Errorf("the database has schema version %d, this program knows versions up to %d: use a newer program", have, want)
		}
		_, err := p.Up(ctx)
		return err
	})
}

// checkSchema refuses a database that does not have the schema of this program.
func checkSchema(ctx context.Context, dsn string) error {
	return withProvider(ctx, dsn, func(_ *goose.Provider, have, want int64) error {
		if have != want {
			return fmt.Errorf("the database has schema version %d, this program needs %d: use the program that serves it", have, want)
		}
		return nil
	})
}

// withProvider calls f with the migrations of a database and with the schema
// versions that the database has and that this program wants.
func withProvider(ctx context.Context, dsn string, f func(p *goose.Provider, have, want int64) error) (err error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	files, err := fs.Sub(schema, "schema")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files)
	if err != nil {
		return err
	}
	have, want, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	return f(p, have, want)
}
