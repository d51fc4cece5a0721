package main

import (
	"os"
	"path/filepath"
	"time"
)

// chunked is how long one task of many chunks takes, from the request to the last
// event of its stream.
type chunked struct {
	Target string  `json:"target"`
	Chunks int     `json:"chunks"`
	MS     float64 `json:"ms"` // median
}

// perChunk returns microseconds.
func (c chunked) perChunk() float64 { return 1e3 * c.MS / float64(c.Chunks) }

// chunkRuns is how often each length is tried; one more is not counted.
const chunkRuns = 5

// chunkPatience is how long the runs of one length may take; those that are left
// are left out.
const chunkPatience = 5 * time.Second

// measureChunks streams tasks of each number of chunks, one at a time.
func measureChunks(t target, scratch string, counts []int) ([]chunked, error) {
	data := filepath.Join(scratch, "data")
	defer os.RemoveAll(data)
	p, err := t.start(data)
	if err != nil {
		return nil, err
	}
	defer p.kill()
	var out []chunked
	for _, n := range counts {
		ms, err := chunkTimes(p.addr, n)
		if err != nil {
			return nil, err
		}
		out = append(out, chunked{Target: t.name, Chunks: n, MS: median(ms)})
	}
	return out, nil
}

func chunkTimes(addr string, n int) ([]float64, error) {
	conns, err := dialAll(addr, 1, burst(n))
	if err != nil {
		return nil, err
	}
	defer closeAll(conns)
	var ms []float64
	for began := time.Now(); len(ms) <= chunkRuns && (len(ms) == 0 || time.Since(began) < chunkPatience); {
		at := time.Now()
		if err := conns[0].send(); err != nil {
			return nil, err
		}
		ms = append(ms, float64(time.Since(at).Microseconds())/1e3)
	}
	if len(ms) > 1 {
		ms = ms[1:]
	}
	return ms, nil
}
