package lakefs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

const (
	// pageSize is how many results a page is asked for, the most lakeFS gives.
	pageSize = 1000
	// maxPageBytes bounds one page of results.
	maxPageBytes = 16 << 20
	// maxErrorBytes is how much of an error answer is read.
	maxErrorBytes = 4 << 10
)

// client speaks the few read operations of the lakeFS REST API.
type client struct {
	base    string // …/api/v1/repositories/{repository}
	opts    Options
	http    *http.Client
	slots   chan struct{} // one for each request under way
	objects *cache
}

func newClient(opts Options) *client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = opts.Parallel
	transport.MaxConnsPerHost = opts.Parallel
	return &client{
		base: strings.TrimRight(opts.Endpoint, "/") + "/api/v1/repositories/" + url.PathEscape(opts.Repository),
		opts: opts,
		http: &http.Client{
			Transport: transport,
			CheckRedirect: func(*http.Request, []*http.Request) error {
				return http.ErrUseLastResponse
			},
		},
		slots:   make(chan struct{}, opts.Parallel),
		objects: newCache(opts.CacheBytes),
	}
}

// answer is what a request got.
type answer struct {
	body        []byte
	etag        string
	notModified bool
}

// get makes one request. An error wraps fs.ErrNotExist when the object is not
// there, and ctx's error when the caller gave up; it never holds a credential.
func (c *client) get(ctx context.Context, path string, query url.Values, etag string, limit int64) (answer, error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
	reqCtx, cancel := context.WithTimeout(ctx, c.opts.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(reqCtx, http.MethodGet, c.base+path+"?"+query.Encode(), nil)
	if err != nil {
		return answer{}, fmt.Errorf("build request: %w", err)
	}
	req.SetBasicAuth(c.opts.AccessKey, string(c.opts.SecretKey))
	req.Header.Set("Accept", "application/json, application/octet-stream")
	if etag != "" {
		req.Header.Set("If-None-Match", etag)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return answer{}, c.transportError(ctx, reqCtx, err)
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusOK:
	case res.StatusCode == http.StatusNotModified && etag != "":
		return answer{etag: etag, notModified: true}, nil
	default:
		return answer{}, statusError(res)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err != nil {
		return answer{}, c.transportError(ctx, reqCtx, err)
	}
	if int64(len(body)) > limit {
		return answer{}, fmt.Errorf("answer is larger than %d bytes", limit)
	}
	return answer{body: body, etag: res.Header.Get("ETag")}, nil
}

// transportError tells the caller's end from the request's own time limit.
func (c *client) transportError(ctx, reqCtx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case reqCtx.Err() != nil:
		return fmt.Errorf("no answer within %v", c.opts.Timeout)
	}
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		err = urlErr.Err // without the URL
	}
	return fmt.Errorf("request: %w", err)
}

// statusError makes an error of an answer that is none. A 404 is an unknown
// object unless it is about the repository or the branch, which are settings.
func statusError(res *http.Response) error {
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBytes))
	if err != nil {
		raw = nil
	}
	var body struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(raw, &body) != nil {
		body.Message = "no reason given"
	}
	cause := fmt.Errorf("status %d: %.200q", res.StatusCode, body.Message)
	if res.StatusCode != http.StatusNotFound {
		return cause
	}
	for _, setting := range [...]string{"repository", "branch", "ref"} {
		if strings.Contains(strings.ToLower(body.Message), setting) {
			return cause
		}
	}
	return fmt.Errorf("%w: %w", fs.ErrNotExist, cause)
}

// objectKey names an object at a branch or a commit.
type objectKey struct{ ref, path string }

// object returns an object's content. version is its checksum from a listing, or
// ""; a copy in memory with that checksum is the object. A pinned object is one
// at a commit, which never changes.
func (c *client) object(ctx context.Context, key objectKey, version string, pinned bool) ([]byte, error) {
	held, ok := c.objects.get(key)
	if ok && (pinned || version != "" && held.etag == `"`+version+`"`) {
		return held.data, nil
	}
	etag := ""
	if ok {
		etag = held.etag
	}
	a, err := c.get(ctx, refPath(key.ref)+"/objects", url.Values{"path": {key.path}}, etag, c.opts.MaxObjectBytes)
	if err != nil {
		return nil, fmt.Errorf("object %q: %w", key.path, err)
	}
	if a.notModified {
		return held.data, nil
	}
	if a.etag != "" {
		c.objects.put(key, cachedObject{etag: a.etag, data: a.body})
	}
	return a.body, nil
}

// pagination is the tail of every page.
type pagination struct {
	HasMore    bool   `json:"has_more"`
	NextOffset string `json:"next_offset"`
}

// entry is an object, or a folder of them.
type entry struct {
	Path     string `json:"path"`
	PathType string `json:"path_type"` // object or common_prefix
	Checksum string `json:"checksum"`
}

// list returns what is directly under prefix, at most limit entries.
func (c *client) list(ctx context.Context, ref, prefix string, limit int) ([]entry, error) {
	return pages[entry](ctx, c, refPath(ref)+"/objects/ls", url.Values{"prefix": {prefix}, "delimiter": {"/"}}, limit)
}

// commit is a commit of a branch.
type commit struct {
	ID       string   `json:"id"`
	Parents  []string `json:"parents"`
	UnixTime int64    `json:"creation_date"`
}

func (c commit) time() time.Time { return time.Unix(c.UnixTime, 0).UTC() }

// change is a difference between two commits.
type change struct {
	Path     string `json:"path"`
	PathType string `json:"path_type"`
	Type     string `json:"type"` // added, removed, changed
}

// diff returns what changed from one commit to another below prefix.
func (c *client) diff(ctx context.Context, from, to, prefix string) ([]change, error) {
	query := url.Values{"type": {"two_dot"}}
	if prefix != "" {
		query.Set("prefix", prefix)
	}
	return pages[change](ctx, c, refPath(from)+"/diff/"+url.PathEscape(to), query, c.opts.MaxObjects)
}

// page is one answer of a list operation.
type page[T any] struct {
	Pagination pagination `json:"pagination"`
	Results    []T        `json:"results"`
}

// advance sets query to the next page.
func (p *page[T]) advance(query url.Values) error {
	next := p.Pagination.NextOffset
	if next == "" || next == query.Get("after") || len(p.Results) == 0 {
		return errors.New("pages do not advance")
	}
	query.Set("after", next)
	return nil
}

func onePage[T any](ctx context.Context, c *client, path string, query url.Values) (*page[T], error) {
	a, err := c.get(ctx, path, query, "", maxPageBytes)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", path, err)
	}
	var p page[T]
	if err := json.Unmarshal(a.body, &p); err != nil {
		return nil, fmt.Errorf("list %s: %w", path, err)
	}
	return &p, nil
}

// pages follows the pages of a list operation; more than limit results are an
// error, because a part would pass for the whole.
func pages[T any](ctx context.Context, c *client, path string, query url.Values, limit int) ([]T, error) {
	query.Set("amount", strconv.Itoa(min(pageSize, limit+1)))
	var all []T
	for {
		p, err := onePage[T](ctx, c, path, query)
		if err != nil {
			return nil, err
		}
		if all = append(all, p.Results...); len(all) > limit {
			return nil, fmt.Errorf("list %s: more than %d results", path, limit)
		}
		if !p.Pagination.HasMore {
			return all, nil
		}
		if err := p.advance(query); err != nil {
			return nil, fmt.Errorf("list %s: %w", path, err)
		}
	}
}

func refPath(ref string) string { return "/refs/" + url.PathEscape(ref) }
