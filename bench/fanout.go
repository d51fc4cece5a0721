package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// How often a task with many subscribers emits, and how long it does so at most.
const (
	fanGap   = 200 * time.Millisecond
	fanLimit = 60 * time.Second
)

// fanOut is what it costs to tell many subscribers of an event.
type fanOut struct {
	Target      string  `json:"target"`
	Subscribers int     `json:"subscribers"`
	Events      int     `json:"events"`
	CPUMicros   float64 `json:"cpu_us"` // per event and subscriber
	// Spread is the time between the first subscriber's receipt of an event and the
	// last one's, in milliseconds: the median over the events.
	Spread float64 `json:"spread_ms"`
	RSSMB  float64 `json:"rss_mb"`
	Others float64 `json:"others"`
}

// measureFanOut lets a task emit while n streams of it are read, and counts what
// comes in about the time of length, from an event that all have to an event that
// all have.
func measureFanOut(t target, scratch string, n int, length time.Duration) (fanOut, error) {
	out := fanOut{Target: t.name, Subscribers: n, Events: max(2, int(length/fanGap))}
	data := filepath.Join(scratch, "data")
	defer os.RemoveAll(data)
	p, err := t.start(data)
	if err != nil {
		return out, err
	}
	defer p.kill()
	task, err := begin(p.addr, fmt.Sprintf("@chunks %d %d", fanLimit/fanGap, fanGap.Milliseconds()))
	if err != nil {
		return out, err
	}
	conns, err := openStreams(p.addr, subscription(p.addr, task), n)
	if err != nil {
		return out, err
	}
	c := newCrowd(conns)
	defer c.disperse()
	// The subscribers have not all joined at the same event: some have had more.
	if err := c.wait(2); err != nil {
		return out, err
	}
	before, err := p.meter()
	if err != nil {
		return out, err
	}
	from := c.total()
	if err := c.wait(2 + out.Events); err != nil {
		return out, err
	}
	delivered := c.total() - from
	u, err := p.since(before)
	if err != nil {
		return out, err
	}
	out.CPUMicros = float64(u.cpu.Microseconds()) / float64(delivered)
	out.RSSMB, out.Others, out.Spread = float64(u.rssKB)/1024, u.others, c.spread()
	return out, nil
}

// crowd reads streams and notes when their events come.
type crowd struct {
	conns []net.Conn
	wg    sync.WaitGroup
	// wake receives a value when all streams have had want events, or one broke.
	wake chan struct{}

	mu      sync.Mutex
	got     []int          // guarded by mu; events of each stream
	all     int            // guarded by mu; their sum
	want    int            // guarded by mu
	reached int            // guarded by mu; streams with want events
	bursts  [][2]time.Time // guarded by mu; first and last receipt of what came together
	err     error          // guarded by mu
}

func newCrowd(conns []net.Conn) *crowd {
	c := &crowd{conns: conns, wake: make(chan struct{}, 1), got: make([]int, len(conns)), want: -1}
	for i, nc := range conns {
		c.wg.Go(func() {
			err := c.read(i, nc)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.err = fmt.Errorf("stream %d: %w", i+1, err)
			c.signal()
		})
	}
	return c
}

func (c *crowd) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *crowd) read(i int, nc net.Conn) error {
	r := bufio.NewReaderSize(nc, 2<<10)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) { // a piece of a long line
			return err
		}
		if bytes.HasPrefix(line, []byte("data:")) && bytes.Contains(line, []byte(`"artifactUpdate":`)) {
			c.note(i)
		}
	}
}

func (c *crowd) note(i int) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got[i]++
	c.all++
	if k := len(c.bursts); k == 0 || now.Sub(c.bursts[k-1][0]) > fanGap*3/4 {
		c.bursts = append(c.bursts, [2]time.Time{now, now})
	} else {
		c.bursts[k-1][1] = now
	}
	if c.got[i] == c.want {
		if c.reached++; c.reached == len(c.got) {
			c.signal()
		}
	}
}

// wait waits until every stream has had k events since it was opened. Streams that
// were opened earlier have had more: so it waits on until what came with the last
// event has come to all.
func (c *crowd) wait(k int) error {
	c.mu.Lock()
	c.want, c.reached = k, 0
	for _, got := range c.got {
		if got >= k {
			c.reached++
		}
	}
	if c.reached == len(c.got) {
		c.signal()
	}
	c.mu.Unlock()
	select {
	case <-c.wake:
	case <-time.After(fanLimit):
		return errors.New("the events did not come in time")
	}
	time.Sleep(fanGap / 2)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *crowd) total() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}

// spread returns the median time from the first receipt of an event to the last.
func (c *crowd) spread() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ms []float64
	for _, b := range c.bursts {
		ms = append(ms, float64(b[1].Sub(b[0]).Microseconds())/1e3)
	}
	return median(ms)
}

func (c *crowd) disperse() {
	hangUp(c.conns)
	c.wg.Wait()
}
