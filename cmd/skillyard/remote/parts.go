package remote

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/skillyard/skillyard/a2a"
)

// maxInput is the largest file that is sent, in bytes. Agents take less as a rule, and
// say so.
const maxInput = 64 << 20

// given is a part as the command line gives it.
type given struct{ kind, value string }

// partFlag is one of several flags whose values keep their order among each other.
type partFlag struct {
	kind, shape string
	list        *[]given
}

func (p *partFlag) String() string     { return "" }
func (p *partFlag) Type() string       { return p.shape }
func (p *partFlag) Set(v string) error { *p.list = append(*p.list, given{p.kind, v}); return nil }

// partFlags adds the flags that make the parts of a message.
func partFlags(fl *pflag.FlagSet, list *[]given) {
	add := func(kind, shape, what string) { fl.Var(&partFlag{kind, shape, list}, kind, what) }
	add("text", "text", "a text part; may be repeated, as --json, --file and --url, and the parts keep their order")
	add("json", "JSON", "a data part: JSON, @FILE, or - for standard input")
	add("file", "path", "a file part: what is in a file, or - for standard input")
	add("url", "URL", "a file part that the agent fetches itself")
}

// parts makes the parts of a message: the text of the arguments, then what the flags
// say. A text of - is standard input.
func (sh *Shell) parts(args []string, list []given) ([]a2a.Part, error) {
	if len(args) > 0 {
		list = append([]given{{"text", strings.Join(args, " ")}}, list...)
	}
	var parts []a2a.Part
	stdin := false
	for _, g := range list {
		if g.value == "-" {
			if stdin {
				return nil, usage("standard input can be one part only", "")
			}
			stdin = true
		}
		p, err := sh.part(g)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	// Most often a variable that is not set, or the output of a program that failed.
	if len(parts) > 0 && !slices.ContainsFunc(parts, func(p a2a.Part) bool { return p.Kind != a2a.PartText || strings.TrimSpace(p.Text) != "" }) {
		return nil, usage("the message is empty", "give a text, or --json, --file or --url")
	}
	return parts, nil
}

func (sh *Shell) part(g given) (a2a.Part, error) {
	switch g.kind {
	case "json":
		b := []byte(g.value)
		if path, ok := strings.CutPrefix(g.value, "@"); ok || g.value == "-" {
			var err error
			if b, err = sh.read(path); err != nil {
				return a2a.Part{}, err
			}
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, b); err != nil {
			return a2a.Part{}, usage("--json is no JSON: "+err.Error(), "")
		}
		return a2a.DataPart(compact.Bytes()), nil
	case "file":
		b, err := sh.read(g.value)
		if err != nil {
			return a2a.Part{}, err
		}
		p := a2a.Part{Kind: a2a.PartRaw, Raw: base64.StdEncoding.EncodeToString(b), MediaType: mediaType(g.value, b)}
		if g.value != "-" {
			p.Filename = filepath.Base(g.value)
		}
		return p, nil
	case "url":
		u, err := url.Parse(g.value)
		if err != nil || u.Scheme == "" {
			return a2a.Part{}, usage("--url is no URL: "+quoted(g.value), "")
		}
		p := a2a.Part{Kind: a2a.PartURL, URL: g.value}
		if name := filepath.Base(u.Path); strings.Contains(name, ".") {
			p.Filename, p.MediaType = name, mediaType(name, nil)
		}
		return p, nil
	}
	if g.value != "-" {
		return a2a.TextPart(g.value), nil
	}
	b, err := sh.read("-")
	if err == nil && !utf8.Valid(b) {
		err = usage("standard input is no text", "send it as a file: --file -")
	}
	return a2a.TextPart(string(b)), err
}

// read reads a file, or standard input for - and "".
func (sh *Shell) read(path string) ([]byte, error) {
	r := sh.In
	if path != "-" && path != "" {
		f, err := os.Open(path)
		if err != nil {
			return nil, usage(err.Error(), "")
		}
		defer f.Close() //nolint:errcheck // only read
		r = f
	}
	b, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	switch {
	case err != nil:
		return nil, usage(err.Error(), "")
	case len(b) > maxInput:
		return nil, usage(fmt.Sprintf("%s is larger than %d MiB", path, maxInput>>20), "put it where the agent can fetch it, and send --url")
	}
	return b, nil
}

// mediaType is the type of a file, by its name or else its content. It has no
// parameters, since agents compare types with a plain list.
func mediaType(name string, b []byte) string {
	t := cmp.Or(mime.TypeByExtension(filepath.Ext(name)), http.DetectContentType(b))
	t, _, _ = strings.Cut(t, ";")
	return t
}

// metadata makes an object of values of the form NAME=TEXT, or objects.
func metadata(values []string) (json.RawMessage, error) {
	if len(values) == 0 {
		return nil, nil
	}
	o := map[string]json.RawMessage{}
	for _, v := range values {
		if strings.HasPrefix(strings.TrimSpace(v), "{") {
			if err := json.Unmarshal([]byte(v), &o); err != nil {
				return nil, usage("--metadata is no JSON object: "+err.Error(), "")
			}
			continue
		}
		name, text, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return nil, usage("--metadata must be NAME=TEXT or a JSON object", "")
		}
		b, err := json.Marshal(text)
		if err != nil {
			return nil, err
		}
		o[name] = b
	}
	return json.Marshal(o)
}

// choice is a flag with few values.
type choice struct {
	value *string
	of    []string
}

func (c *choice) String() string {
	if c.value == nil {
		return ""
	}
	return *c.value
}

func (c *choice) Set(v string) error {
	for _, known := range c.of {
		if v == known {
			*c.value = v
			return nil
		}
	}
	return fmt.Errorf("must be one of %s", strings.Join(c.of, ", "))
}

func (c *choice) Type() string { return strings.Join(c.of, "|") }
