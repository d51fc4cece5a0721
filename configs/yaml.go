package configs

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxFile bounds a configuration file, in bytes.
const maxFile = 1 << 20

// maxNesting bounds how deep a file's lists and mappings are nested.
const maxNesting = 100

// reader reads one YAML file into a struct.
type reader struct {
	doc      *document
	env      map[string]string
	problems []*Problem
	// plain leaves dollar signs in a tree without a type as they are.
	plain bool
}

// readYAML reads data over what into points to. The document is returned also with an
// error.
//
// The parsed tree is first fitted to the type: references are resolved,
// every fault is noted with its place, and each scalar becomes a node of the kind
// its field wants, so that 8080 may be a string and "30s" a duration. Decoding
// then has nothing left to complain about; it is strict all the same.
func readYAML(into any, name string, data []byte, env map[string]string) (*document, error) {
	r := &reader{
		doc: &document{name: name, lines: strings.Split(string(data), "\n"), places: map[string]place{}},
		env: env,
	}
	if len(data) > maxFile {
		return r.doc, &Problem{File: name, Message: fmt.Sprintf("the file is larger than %s", Size(maxFile))}
	}
	if err := nesting(data); err != nil {
		return r.doc, &Problem{File: name, Message: err.Error()}
	}
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return r.doc, r.foreign(err)
	}
	var body ast.Node
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil:
		case body != nil:
			r.fault(doc.Body, "", "a file has one document; remove what follows ---")
			return r.doc, join(r.problems)
		default:
			body = doc.Body
		}
	}
	if body == nil {
		return r.doc, nil
	}
	body = r.fit(body, reflect.TypeOf(into).Elem(), "")
	if len(r.problems) > 0 {
		return r.doc, join(r.problems)
	}
	dec := yaml.NewDecoder(bytes.NewReader(nil), yaml.Strict())
	if err := dec.DecodeFromNode(body, into); err != nil {
		return r.doc, r.foreign(err)
	}
	return r.doc, nil
}

// nesting refuses a file whose brackets are nested so deep that parsing it could
// exhaust the stack. It counts too much rather than too little: brackets in
// strings count as well.
func nesting(data []byte) error {
	depth := 0
	for _, c := range data {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(0, depth-1)
		}
		if depth > 10*maxNesting {
			return errors.New("the file is nested too deep")
		}
	}
	return nil
}

// foreign turns an error of the YAML library into a problem.
func (r *reader) foreign(err error) error {
	var e yaml.Error
	if !errors.As(err, &e) || e.GetToken() == nil || e.GetToken().Position == nil {
		return &Problem{File: r.doc.name, Message: err.Error()}
	}
	p := placeOf(e.GetToken())
	path := ""
	for at, q := range r.doc.places {
		if q == p {
			path = at
		}
	}
	return r.doc.at(p, path, e.GetMessage())
}

func placeOf(t *token.Token) place { return place{t.Position.Line, t.Position.Column} }

// fault notes a problem at a node.
func (r *reader) fault(n ast.Node, path, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if t := n.GetToken(); t != nil && t.Position != nil {
		r.problems = append(r.problems, r.doc.at(placeOf(t), path, message))
		return
	}
	r.problems = append(r.problems, r.doc.problem(path, message))
}

// place remembers where the value at path stands. The token of a mapping in block
// style is its first colon, so its first key stands for it.
func (r *reader) place(n ast.Node, path string) {
	t := n.GetToken()
	if entries := asMapping(n); len(entries) > 0 && t != nil && t.Type != token.MappingStartType {
		t = entries[0].Key.GetToken()
	}
	if _, known := r.doc.places[path]; path != "" && !known && t != nil && t.Position != nil {
		r.doc.places[path] = placeOf(t)
	}
}

// key returns the text of an entry's key and notes a key that comes twice or is
// none.
func (r *reader) key(entry *ast.MappingValueNode, path string, seen map[string]int) (string, bool) {
	key, ok := scalarText(entry.Key)
	if !ok {
		r.fault(entry.Key, path, "anchors, aliases, merge keys and tags are not supported")
		return "", false
	}
	t := entry.Key.GetToken()
	if line, twice := seen[key]; twice {
		r.fault(entry.Key, join2(path, key), "is set already in line %d", line)
		return "", false
	}
	seen[key] = t.Position.Line
	// A key such as 0.3 is a number to the library, and a number is no field.
	entry.Key = textNode(t, key)
	return key, true
}

// fit returns the node that decodes into t, noting what does not fit. An empty
// value (null) fits everything: it leaves the default.
func (r *reader) fit(n ast.Node, t reflect.Type, path string) ast.Node {
	r.place(n, path)
	switch n := n.(type) {
	case *ast.NullNode:
		return n
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode, *ast.DirectiveNode:
		r.fault(n, path, "anchors, aliases, merge keys and tags are not supported")
		return n
	}
	switch {
	case t == reflect.TypeFor[Settings]():
		if asMapping(n) == nil {
			r.fault(n, path, "must be a mapping of the kind's settings")
			return n
		}
		return r.free(n, path, 0)
	case t == reflect.TypeFor[Document]():
		return r.fitDocument(n, path)
	case t == reflect.TypeFor[Secret](), t == reflect.TypeFor[Size](), t == reflect.TypeFor[time.Duration]():
		return r.fitScalar(n, t, path)
	case t.Kind() == reflect.Struct:
		return r.fitStruct(n, t, path)
	case t.Kind() == reflect.Slice:
		seq, ok := n.(*ast.SequenceNode)
		if !ok {
			r.fault(n, path, "must be a list")
			return n
		}
		for i, item := range seq.Values {
			seq.Values[i] = r.fit(item, t.Elem(), path+"["+strconv.Itoa(i)+"]")
		}
		return seq
	case t.Kind() == reflect.Map:
		return r.fitMap(n, t, path)
	}
	return r.fitScalar(n, t, path)
}

// fitMap fits a mapping whose keys are the user's own.
func (r *reader) fitMap(n ast.Node, t reflect.Type, path string) ast.Node {
	entries := asMapping(n)
	if entries == nil {
		r.fault(n, path, "must be a mapping")
		return n
	}
	seen := make(map[string]int, len(entries))
	for _, entry := range entries {
		if key, ok := r.key(entry, path, seen); ok {
			entry.Value = r.fit(entry.Value, t.Elem(), join2(path, key))
		}
	}
	return n
}

func (r *reader) fitStruct(n ast.Node, t reflect.Type, path string) ast.Node {
	entries := asMapping(n)
	if entries == nil {
		r.fault(n, path, "must be a mapping with the keys %s", strings.Join(keysOf(t), ", "))
		return n
	}
	seen := make(map[string]int, len(entries))
	for _, entry := range entries {
		key, ok := r.key(entry, path, seen)
		if !ok {
			continue
		}
		at := join2(path, key)
		field, ok := fieldFor(t, key)
		if !ok {
			message := "unknown key"
			if near := nearest(key, keysOf(t)); near != "" {
				message += fmt.Sprintf("; did you mean %q?", near)
			}
			r.fault(entry.Key, at, "%s", message)
			continue
		}
		if asMapping(entry.Value) != nil {
			r.doc.places[at] = placeOf(entry.Key.GetToken())
		}
		entry.Value = r.fit(entry.Value, field.Type, at)
	}
	return n
}

func join2(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// fitScalar checks a scalar against its field's type.
func (r *reader) fitScalar(n ast.Node, t reflect.Type, path string) ast.Node {
	text, ok := scalarText(n)
	if !ok {
		r.fault(n, path, "must be a single value, not a list or mapping")
		return n
	}
	text, err := interpolate(text, r.env)
	if err != nil {
		r.fault(n, path, "%s", err)
		return n
	}
	switch {
	case t == reflect.TypeFor[time.Duration]():
		if _, err := time.ParseDuration(text); err != nil {
			r.fault(n, path, "%q is not a duration such as 500ms, 30s, 10m or 720h", text)
		}
	case t == reflect.TypeFor[Size]():
		if _, err := ParseSize(text); err != nil {
			r.fault(n, path, "%s", err)
		}
	case t.Kind() == reflect.Bool:
		if text != "true" && text != "false" {
			r.fault(n, path, "%q is neither true nor false", text)
		}
		return ast.Bool(retext(n.GetToken(), text))
	case t.Kind() == reflect.Int:
		i, err := strconv.Atoi(strings.ReplaceAll(text, "_", ""))
		if err != nil {
			r.fault(n, path, "%q is not a whole number", text)
		}
		return ast.Integer(retext(n.GetToken(), strconv.Itoa(i)))
	}
	return textNode(n.GetToken(), text)
}

// asMapping returns the entries of a mapping, nil for anything else.
func asMapping(n ast.Node) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		if n.Values == nil {
			return []*ast.MappingValueNode{}
		}
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

// scalarText returns a scalar as it stands in the file; false for what is none.
func scalarText(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.NullNode:
		return "", true
	case *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// retext returns a token in the place of t with another text.
func retext(t *token.Token, text string) *token.Token {
	c := *t
	c.Value = text
	return &c
}

func textNode(t *token.Token, text string) *ast.StringNode { return ast.String(retext(t, text)) }

// keyOf returns the YAML key of a field, "" if it has none.
func keyOf(f reflect.StructField) string { return f.Tag.Get("yaml") }

func keysOf(t reflect.Type) []string {
	var keys []string
	for f := range t.Fields() {
		if key := keyOf(f); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

func fieldFor(t reflect.Type, key string) (reflect.StructField, bool) {
	for f := range t.Fields() {
		if keyOf(f) == key {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// nearest returns the candidate that is at most a third of key away, "" if there
// is none.
func nearest(key string, candidates []string) string {
	if len(key) > 64 {
		return ""
	}
	best, least := "", max(2, len(key)/3)+1
	for _, c := range candidates {
		if d := distance(key, c); d < least {
			best, least = c, d
		}
	}
	return best
}

// distance is the number of insertions, deletions and replacements between a and b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := slices.Clone(row)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
