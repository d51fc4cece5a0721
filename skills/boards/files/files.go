// Package files reads boards from a directory of JSON files, in the layout of
// package layout. The files are meant to be edited by hand, copied and kept
// under version control.
//
// The directory is opened as an os.Root for each read: nothing outside it can be
// reached, neither by an id nor by a symbolic link, and a directory that is
// replaced or restored is seen at once. Nothing but regular files is read.
package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"github.com/skillyard/skillyard/skills/boards"
	"github.com/skillyard/skillyard/skills/boards/layout"
)

// Options say where the boards are. The zero value of a field but Dir takes its
// default.
type Options struct {
	// Dir is the directory. It may be made after New.
	Dir string
	// MaxFileBytes is the largest file; default 8 MiB.
	MaxFileBytes int64
	// MaxObjects is the most files of one folder; default 10000.
	MaxObjects int
	// CacheBytes is how much file content is kept in memory while the files do
	// not change; default 16 MiB, negative none.
	CacheBytes int64
	// Parallel is how many files are read at once; default 4.
	Parallel int
	// Log takes remarks on damaged files; the zero Logger drops them.
	Log zerolog.Logger
}

// New returns the source of a directory. It reads nothing yet.
func New(opts Options) (boards.Source, error) {
	if opts.Dir == "" {
		return nil, errors.New("boards directory: no path given")
	}
	opts.MaxFileBytes = cmp.Or(max(opts.MaxFileBytes, 0), 8<<20)
	opts.CacheBytes = cmp.Or(opts.CacheBytes, 16<<20)
	opts.Parallel = cmp.Or(max(opts.Parallel, 0), 4)
	return layout.New(&tree{opts: opts, cache: map[string]cached{}}, layout.Options{
		Parallel: opts.Parallel, MaxObjects: opts.MaxObjects, Log: opts.Log,
	}), nil
}

// tree is the directory as a layout.Tree.
type tree struct {
	opts Options

	mu    sync.Mutex
	cache map[string]cached // by path; guarded by mu
	held  int64             // content bytes in cache; guarded by mu
}

// cached is a file's content with what it looked like when it was read.
type cached struct {
	modTime time.Time
	size    int64
	data    []byte
}

// settled is how old a change must be before equal time and size prove equal
// content: file times are coarse, and a second change within one tick of the
// clock would go unseen.
const settled = 2 * time.Second

// List implements layout.Tree.
func (t *tree) List(ctx context.Context, dir string, limit int) ([]layout.Object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(t.opts.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	d, err := root.Open(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(limit + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(entries) > limit {
		return nil, fmt.Errorf("%s has more than %d entries", dir, limit)
	}
	objects := make([]layout.Object, len(entries))
	for i, e := range entries {
		objects[i] = layout.Object{Path: dir + "/" + e.Name(), Dir: e.IsDir()}
	}
	return objects, nil
}

// Read implements layout.Tree.
func (t *tree) Read(ctx context.Context, o layout.Object) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(t.opts.Dir)
	if err != nil {
		// Without the directory the boards are unavailable, not unknown.
		return nil, fmt.Errorf("open boards directory: %v", err)
	}
	defer root.Close()
	info, err := root.Stat(o.Path)
	if errors.Is(err, syscall.ENOTDIR) {
		return nil, fs.ErrNotExist // a file where the path has a folder
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", o.Path)
	}
	if data, ok := t.cachedContent(o.Path, info); ok {
		return data, nil
	}
	f, err := root.Open(o.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, t.opts.MaxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > t.opts.MaxFileBytes {
		return nil, fmt.Errorf("%s is larger than %d bytes", o.Path, t.opts.MaxFileBytes)
	}
	t.keep(o.Path, info, data)
	return data, nil
}

func (t *tree) cachedContent(path string, info fs.FileInfo) ([]byte, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.cache[path]
	if !ok || !c.modTime.Equal(info.ModTime()) || c.size != info.Size() {
		return nil, false
	}
	return c.data, true
}

// keep stores content that was read after info was taken. A file that changed
// just now, or between the two, is not kept.
func (t *tree) keep(path string, info fs.FileInfo, data []byte) {
	size := int64(len(data))
	if size != info.Size() || size > t.opts.CacheBytes || time.Since(info.ModTime()) < settled {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held -= int64(len(t.cache[path].data))
	t.held += size
	t.cache[path] = cached{modTime: info.ModTime(), size: size, data: data}
	// Any entry may go: what is missing is read again.
	for p, c := range t.cache {
		if t.held <= t.opts.CacheBytes {
			break
		}
		if p != path {
			t.held -= int64(len(c.data))
			delete(t.cache, p)
		}
	}
}
