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
func migrate(ctx context.Context, dsn string) (err error) {
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
	if have > want {
		return fmt.Errorf("the database has schema version %d, this program knows versions up to %d: use a newer program", have, want)
	}
	_, err = p.Up(ctx)
	return err
}
