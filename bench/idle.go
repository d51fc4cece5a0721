package main

import (
	"os"
	"path/filepath"
	"slices"
	"time"
)

// idle is what open streams of one task cost while it has no events.
type idle struct {
	Target  string `json:"target"`
	Streams int    `json:"streams"`
	// KB is the growth of the server's resident memory per stream.
	KB float64 `json:"kb_per_stream"`
}

// idleFirst is how many streams are open already when the growth is counted: what
// the first ones cost is not the streams'.
const idleFirst = 10

// measureIdle opens streams of one task, in steps of the sorted counts, and reads
// the memory after each, for which it waits as long as patience.
func measureIdle(t target, scratch string, counts []int, patience time.Duration) ([]idle, error) {
	data := filepath.Join(scratch, "data")
	defer os.RemoveAll(data)
	p, err := t.start(data)
	if err != nil {
		return nil, err
	}
	defer p.kill()
	task, err := begin(p.addr, "@hang")
	if err != nil {
		return nil, err
	}
	open, err := subscribeAll(p.addr, task, idleFirst)
	if err != nil {
		return nil, err
	}
	defer func() { hangUp(open) }()
	before, err := p.settled(patience)
	if err != nil {
		return nil, err
	}
	var out []idle
	for _, n := range counts {
		more, err := subscribeAll(p.addr, task, n-(len(open)-idleFirst))
		if err != nil {
			return nil, err
		}
		open = append(open, more...)
		after, err := p.settled(patience)
		if err != nil {
			return nil, err
		}
		out = append(out, idle{Target: t.name, Streams: n, KB: float64(after-before) / float64(n)})
	}
	return out, nil
}

// settled returns the resident memory when it does not change any more, or when
// patience is over.
func (p *process) settled(patience time.Duration) (int, error) {
	const readings = 12
	var seen []int
	for range readings {
		time.Sleep(patience / readings)
		_, rss, err := p.usage()
		if err != nil {
			return 0, err
		}
		seen = append(seen, rss)
		if last := seen[max(0, len(seen)-4):]; len(last) == 4 && slices.Max(last)-slices.Min(last) < slices.Max(last)/100 {
			break
		}
	}
	return seen[len(seen)-1], nil
}
