// Package lakefs reads boards from a lakeFS repository over its REST API, in the
// layout of package layout.
//
// Objects are kept in memory by their ETag: what a listing shows to be unchanged
// is not asked for again, anything else is asked for with If-None-Match. Requests
// run in parallel up to a bound that holds for the whole source. The history
// comes from the event files; where a repository has none, it is worked out from
// the commits, see Source.History.
//
// The package never writes, follows no redirect (the credentials are for the
// endpoint alone), and puts no credential into an error or a log.
package lakefs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/skillyard/skillyard/skills/boards"
	"github.com/skillyard/skillyard/skills/boards/layout"
)

// Secret is a string that prints as ***.
type Secret string

// String hides the secret.
func (Secret) String() string { return "***" }

// GoString hides the secret.
func (Secret) GoString() string { return `"***"` }

// MarshalText hides the secret.
func (Secret) MarshalText() ([]byte, error) { return []byte("***"), nil }

// Options say where the boards are. The zero value of a field that is not said
// to be required takes its default.
type Options struct {
	// Endpoint is the server's base URL, such as "https://lakefs.example.com";
	// required.
	Endpoint string
	// AccessKey and SecretKey are the credentials; required.
	AccessKey string
	SecretKey Secret
	// Repository is required, Branch defaults to "main".
	Repository string
	Branch     string
	// Prefix is the folder of the layout in the repository; nil means "tasks/",
	// "" the top.
	Prefix *string
	// Timeout bounds one request, its body included; default 10 s.
	Timeout time.Duration
	// Parallel is how many requests the source has under way at once; default 16.
	Parallel int
	// CacheBytes is how much content is kept in memory; default 32 MiB, negative
	// none.
	CacheBytes int64
	// MaxObjectBytes is the largest object; default 8 MiB.
	MaxObjectBytes int64
	// MaxObjects is the most entries of one folder; default 10000.
	MaxObjects int
	// MaxCommits is how far back, in commits, a history is worked out; default
	// 1000.
	MaxCommits int
	// MaxDiffs is how many steps that history has; more commits than that are
	// taken several at a time. Default 100.
	MaxDiffs int
	// Log takes remarks on damaged objects; the zero Logger drops them.
	Log zerolog.Logger
}

// defaultPrefix is the folder the Task Manager keeps its boards in.
const defaultPrefix = "tasks/"

func (o Options) withDefaults() Options {
	o.Branch = cmp.Or(o.Branch, "main")
	prefix := defaultPrefix
	if o.Prefix != nil {
		prefix = strings.Trim(*o.Prefix, "/")
		if prefix != "" {
			prefix += "/"
		}
	}
	o.Prefix = &prefix
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	o.Parallel = cmp.Or(max(o.Parallel, 0), 16)
	o.CacheBytes = cmp.Or(o.CacheBytes, 32<<20)
	o.MaxObjectBytes = cmp.Or(max(o.MaxObjectBytes, 0), 8<<20)
	o.MaxObjects = cmp.Or(max(o.MaxObjects, 0), 10_000)
	o.MaxCommits = cmp.Or(max(o.MaxCommits, 0), 1000)
	o.MaxDiffs = cmp.Or(max(o.MaxDiffs, 0), 100)
	return o
}

func (o Options) validate() error {
	var errs []error
	if u, err := url.Parse(o.Endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		// The parse error is left out: it would repeat the URL, password and all.
		errs = append(errs, errors.New("endpoint must be an http or https URL"))
	} else if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		errs = append(errs, errors.New("endpoint must have no user, query or fragment"))
	}
	if o.Repository == "" {
		errs = append(errs, errors.New("repository is missing"))
	}
	if o.AccessKey == "" || o.SecretKey == "" {
		errs = append(errs, errors.New("access key or secret key is missing"))
	}
	return errors.Join(errs...)
}

// Source is a boards.Source over a branch of a repository.
type Source struct {
	*layout.Source
	client *client
	opts   Options
}

// New returns the source. It makes no request yet. The error names every
// setting at fault.
func New(opts Options) (*Source, error) {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, fmt.Errorf("lakefs: %w", err)
	}
	c := newClient(opts)
	return &Source{
		Source: layout.New(&tree{client: c, ref: opts.Branch, prefix: *opts.Prefix}, layout.Options{
			Parallel: opts.Parallel, MaxObjects: opts.MaxObjects, Log: opts.Log,
		}),
		client: c,
		opts:   opts,
	}, nil
}

var _ boards.Source = (*Source)(nil)

// tree is the branch as a layout.Tree.
type tree struct {
	client *client
	ref    string
	prefix string
}

// Read implements layout.Tree.
func (t *tree) Read(ctx context.Context, o layout.Object) ([]byte, error) {
	return t.client.object(ctx, objectKey{ref: t.ref, path: t.prefix + o.Path}, o.Version, false)
}

// List implements layout.Tree.
func (t *tree) List(ctx context.Context, dir string, limit int) ([]layout.Object, error) {
	entries, err := t.client.list(ctx, t.ref, t.prefix+dir+"/", limit)
	if err != nil {
		return nil, err
	}
	objects := make([]layout.Object, len(entries))
	for i, e := range entries {
		objects[i] = layout.Object{
			Path:    strings.TrimSuffix(strings.TrimPrefix(e.Path, t.prefix), "/"),
			Dir:     e.PathType == "common_prefix",
			Version: e.Checksum,
		}
	}
	return objects, nil
}
