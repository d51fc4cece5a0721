package configs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// maxDocument bounds a JSON Schema that is kept in a file of its own, in bytes.
const maxDocument = 256 << 10

// Document is a JSON Schema, written down as a mapping or as the path of a JSON file.
// What it says is for other packages to check. Dollar signs in a mapping mean
// themselves, since patterns have them; a path may hold references.
type Document struct {
	raw  json.RawMessage
	path string
}

// JSON returns the schema, nil if none was set. After Load a file has been read. The
// caller must not change it.
func (d Document) JSON() json.RawMessage { return d.raw }

// Equal reports whether two documents say the same.
func (d Document) Equal(o Document) bool { return d.path == o.path && bytes.Equal(d.raw, o.raw) }

// MarshalJSON writes the schema, or null.
func (d Document) MarshalJSON() ([]byte, error) {
	if d.raw == nil {
		return []byte("null"), nil
	}
	return d.raw, nil
}

// UnmarshalYAML keeps a mapping as JSON and a text as a path.
func (d *Document) UnmarshalYAML(n ast.Node) error {
	if asMapping(n) == nil {
		d.path, _ = scalarText(n)
		return nil
	}
	b, err := appendJSON(nil, n)
	d.raw = b
	return err
}

// read reads the file, if the document is in one.
func (d *Document) read() error {
	if d.path == "" {
		return nil
	}
	f, err := os.Open(d.path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	b, err := io.ReadAll(io.LimitReader(f, maxDocument+1))
	if err != nil {
		return err
	}
	if len(b) > maxDocument {
		return fmt.Errorf("%s is larger than %d bytes", d.path, maxDocument)
	}
	b = bytes.TrimSpace(bytes.TrimPrefix(b, []byte("\uFEFF")))
	if !json.Valid(b) {
		return fmt.Errorf("%s is not JSON", d.path)
	}
	d.raw = b
	return nil
}

// fitDocument checks a document's form: a mapping, or a path.
func (r *reader) fitDocument(n ast.Node, path string) ast.Node {
	if asMapping(n) != nil {
		return r.literal(n, path)
	}
	text, ok := scalarText(n)
	if !ok {
		r.fault(n, path, "must be a mapping, or the path of a JSON file")
		return n
	}
	text, err := interpolate(text, r.env)
	if err != nil {
		r.fault(n, path, "%s", err)
	}
	return textNode(n.GetToken(), strings.TrimSpace(text))
}

// literal is free without references.
func (r *reader) literal(n ast.Node, path string) ast.Node {
	r.plain = true
	defer func() { r.plain = false }()
	return r.free(n, path, 0)
}
