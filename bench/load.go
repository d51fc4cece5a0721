package main

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// load is how a slice drives a server.
type load struct {
	ask   ask
	conns int
	warm  time.Duration
	slice time.Duration
	rate  int // requests per second on a fixed schedule; 0 sends as fast as answers come
}

// sample is one slice of one target. Latencies are milliseconds; those of an
// open loop count from the scheduled time.
type sample struct {
	Target    string  `json:"target"`
	Conns     int     `json:"conns"`
	Rate      int     `json:"rate,omitempty"`
	Round     int     `json:"round"`
	Requests  int     `json:"requests"`
	RPS       float64 `json:"rps"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	CPUMicros float64 `json:"cpu_us"`
	RSSMB     float64 `json:"rss_mb"`
	// Others is the part of the machine that other processes took meanwhile.
	Others float64 `json:"others"`
}

// Phases of a slice.
const (
	warming int32 = iota
	measuring
	over
)

// measure starts the target with empty data, drives it and stops it.
func measure(t target, scratch string, l load) (sample, error) {
	data := filepath.Join(scratch, "data")
	defer os.RemoveAll(data)
	p, err := t.start(data)
	if err != nil {
		return sample{}, err
	}
	defer p.kill()
	conns, err := dialAll(p.addr, l.conns, l.ask)
	if err != nil {
		return sample{}, err
	}
	defer closeAll(conns)

	var phase atomic.Int32
	var wg sync.WaitGroup
	latencies := make([][]time.Duration, l.conns)
	errs := make([]error, l.conns)
	var ticket atomic.Int64
	began := time.Now()
	for i, c := range conns {
		wg.Go(func() {
			lat := make([]time.Duration, 0, 1<<12)
			for phase.Load() != over {
				at := time.Now()
				if l.rate > 0 {
					at = began.Add(time.Duration(ticket.Add(1)) * time.Second / time.Duration(l.rate))
					time.Sleep(time.Until(at))
				}
				counted := phase.Load() == measuring
				if errs[i] = c.send(); errs[i] != nil {
					return
				}
				if counted && phase.Load() == measuring {
					lat = append(lat, time.Since(at))
				}
			}
			latencies[i] = lat
		})
	}
	time.Sleep(l.warm)
	before, err := p.meter()
	if err != nil {
		return sample{}, err
	}
	phase.Store(measuring)
	time.Sleep(l.slice)
	phase.Store(over)
	used, err := p.since(before)
	if err != nil {
		return sample{}, err
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return sample{}, err
		}
	}
	all := slices.Concat(latencies...)
	slices.Sort(all)
	m := sample{Target: t.name, Conns: l.conns, Rate: l.rate, Requests: len(all), RSSMB: float64(used.rssKB) / 1024}
	m.RPS = float64(len(all)) / used.elapsed.Seconds()
	m.Others = used.others
	m.P50, m.P99 = quantile(all, 0.50), quantile(all, 0.99)
	if len(all) > 0 {
		m.CPUMicros = float64(used.cpu.Microseconds()) / float64(len(all))
	}
	return m, nil
}

func dialAll(addr string, n int, a ask) ([]*conn, error) {
	deadline := time.Now().Add(10 * time.Minute) // of a hung server, not of a request
	conns := make([]*conn, n)
	for i := range conns {
		c, err := dial(addr, a)
		if err == nil {
			err = c.nc.SetDeadline(deadline)
		}
		if err != nil {
			closeAll(conns[:i])
			return nil, err
		}
		conns[i] = c
	}
	return conns, nil
}

func closeAll(conns []*conn) {
	for _, c := range conns {
		c.close()
	}
}

// quantile returns a quantile of sorted durations in milliseconds.
func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i := min(int(q*float64(len(sorted))), len(sorted)-1)
	return float64(sorted[i].Nanoseconds()) / 1e6
}

// median returns the median; 0 of nothing.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Clone(values)
	slices.Sort(s)
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}
