package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// idle is what open streams cost while nothing happens.
type idle struct {
	Target  string `json:"target"`
	Streams int    `json:"streams"`
	// Own tells that each stream is of a task of its own, which runs; otherwise all
	// are of one task.
	Own bool `json:"own_task"`
	// KB is the growth of the server's resident memory per stream.
	KB float64 `json:"kb_per_stream"`
}

func (m idle) tasks() string {
	if m.Own {
		return "a task each"
	}
	return "one task"
}

// What the first of everything costs is not the streams': so a server has done
// idleWarm tasks on each of a few connections, and has idleFirst streams, when the
// growth begins to count.
const (
	idleWarm  = 50
	idleFirst = 10
)

// measureIdle opens streams, in steps of the sorted counts, and reads the memory
// after each, for which it waits as long as patience.
func measureIdle(t target, scratch string, counts []int, own bool, patience time.Duration) ([]idle, error) {
	data := filepath.Join(scratch, "data")
	defer os.RemoveAll(data)
	p, err := t.start(data)
	if err != nil {
		return nil, err
	}
	defer p.kill()
	if err := warmUp(p.addr); err != nil {
		return nil, err
	}
	req := request(p.addr, "SendStreamingMessage", message("m-1", "@hang", `{}`))
	if !own {
		task, err := begin(p.addr, "@hang")
		if err != nil {
			return nil, err
		}
		req = subscription(p.addr, task)
	}
	open, err := openStreams(p.addr, req, idleFirst)
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
		more, err := openStreams(p.addr, req, n-(len(open)-idleFirst))
		if err != nil {
			return nil, err
		}
		open = append(open, more...)
		after, err := p.settled(patience)
		if err != nil {
			return nil, err
		}
		out = append(out, idle{Target: t.name, Streams: n, Own: own, KB: float64(after-before) / float64(n)})
	}
	return out, nil
}

func warmUp(addr string) error {
	conns, err := dialAll(addr, 8, echo(0))
	if err != nil {
		return err
	}
	defer closeAll(conns)
	errs := make([]error, len(conns))
	var wg sync.WaitGroup
	for i, c := range conns {
		wg.Go(func() {
			for n := 0; n < idleWarm && errs[i] == nil; n++ {
				errs[i] = c.send()
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
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
