package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// measureFsync returns the median time of appending 4 KiB and fsync, in
// milliseconds, on the disk that holds dir.
func measureFsync(dir string) (float64, error) {
	f, err := os.CreateTemp(dir, "fsync-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	page := make([]byte, 4096)
	times := make([]time.Duration, 0, 300)
	for range cap(times) {
		at := time.Now()
		if _, err := f.Write(page); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		times = append(times, time.Since(at))
	}
	slices.Sort(times)
	return quantile(times, 0.5), nil
}

// cold is how long starts take, in milliseconds.
type cold struct {
	DatabaseMB float64   `json:"database_mb"`
	Ours       []float64 `json:"ours_ms"`
	A2AGo      []float64 `json:"a2a_go_ms"`
	Floor      []float64 `json:"floor_ms"`
}

// coldStarts fills a database through the server itself, kills it, and starts
// it again and again. Every start follows a kill, so that it also has to
// recover the write-ahead log.
func coldStarts(targets []target, scratch string, p plan) (*cold, error) {
	find := func(name string) *target {
		for i := range targets {
			if targets[i].name == name {
				return &targets[i]
			}
		}
		return nil
	}
	ours := find(oursDurable)
	if ours == nil {
		return nil, nil
	}
	progress("fill a database of %d MB", p.dbMB)
	data := filepath.Join(scratch, "cold")
	if err := fill(*ours, data, int64(p.dbMB)*1e6); err != nil {
		return nil, err
	}
	size, err := treeSize(data)
	if err != nil {
		return nil, err
	}
	c := &cold{DatabaseMB: float64(size) / 1e6}
	for range p.starts {
		for _, one := range []struct {
			t   *target
			dir string
			to  *[]float64
		}{
			{ours, data, &c.Ours},
			{find(a2aGo), filepath.Join(scratch, "none"), &c.A2AGo},
			{find(floor), filepath.Join(scratch, "none"), &c.Floor},
		} {
			if one.t == nil {
				continue
			}
			proc, err := one.t.start(one.dir)
			if err != nil {
				return nil, err
			}
			*one.to = append(*one.to, float64(proc.ready.Microseconds())/1e3)
			proc.kill()
		}
	}
	return c, nil
}

// fill sends tasks of about 1 KB of text until the data directory has the size.
func fill(t target, data string, size int64) error {
	p, err := t.start(data)
	if err != nil {
		return err
	}
	defer p.kill()
	conns, err := dialAll(p.addr, 128, echo(1000))
	if err != nil {
		return err
	}
	defer closeAll(conns)
	var full atomic.Bool
	var wg sync.WaitGroup
	errs := make([]error, len(conns))
	for i, c := range conns {
		wg.Go(func() {
			for !full.Load() && errs[i] == nil {
				errs[i] = c.send()
			}
			full.Store(true) // an error ends all
		})
	}
	for !full.Load() {
		time.Sleep(100 * time.Millisecond)
		if got, err := treeSize(data); err == nil && got >= size {
			full.Store(true)
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}

// treeSize returns the size of all files below dir.
func treeSize(dir string) (int64, error) {
	var size int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed while walking
		}
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}
