package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// session is a run under way.
type session struct {
	plan
	scratch string
	targets []target // ours first
	res     results
}

// run measures, prints, writes the results, and reports whether all goals that
// could be judged were met.
func run(p plan) (bool, error) {
	if err := os.MkdirAll(p.out, 0o755); err != nil {
		return false, err
	}
	scratch, err := os.MkdirTemp(p.out, "scratch-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(scratch)
	if scratch, err = filepath.Abs(scratch); err != nil {
		return false, err
	}
	cleanWhenStopped(scratch)
	progress("build the server and the peers")
	targets, binary, err := build(p, scratch)
	if err != nil {
		return false, err
	}
	s := &session{plan: p, scratch: scratch, targets: targets}
	s.res = results{Machine: thisMachine(), Started: time.Now().UTC(), Targets: names(targets)}
	if binary != "" {
		info, err := os.Stat(binary)
		if err != nil {
			return false, err
		}
		s.res.BinaryMB = float64(info.Size()) / 1e6
	}
	for round := range p.rounds {
		if err := s.round(round); err != nil {
			return false, err
		}
	}
	for _, part := range []func() error{s.idleStreams, s.fanOuts, s.manyChunks, s.hangingWebhooks} {
		if err := part(); err != nil {
			return false, err
		}
	}
	if p.dbMB > 0 {
		if s.res.Cold, err = coldStarts(targets, scratch, p); err != nil {
			return false, err
		}
	}
	if p.judged {
		s.res.Goals = judge(&s.res)
	}
	s.res.print(os.Stdout)
	return s.res.met(), s.res.write(p.out)
}

// round measures a slice of each kind and target. Rounds begin with different
// targets.
func (s *session) round(round int) error {
	for _, c := range s.conns {
		fsync, err := measureFsync(s.scratch)
		if err != nil {
			return err
		}
		s.res.FsyncMS = append(s.res.FsyncMS, fsync)
		if err := s.slices(round, &s.res.Closed, load{ask: echo(0), conns: c}, "req/s"); err != nil {
			return err
		}
	}
	if s.streams > 0 {
		l := load{ask: burst(streamChunks), conns: s.streams}
		if err := s.slices(round, &s.res.Streams, l, "streams/s"); err != nil {
			return err
		}
	}
	if s.openRate > 0 {
		return s.slices(round, &s.res.Open, load{ask: echo(0), conns: 64, rate: s.openRate}, "req/s, open loop")
	}
	return nil
}

// slices measures one slice of each target.
func (s *session) slices(round int, to *[]sample, l load, unit string) error {
	l.warm, l.slice = s.warm, s.slice
	for i := range s.targets {
		t := s.targets[(i+round)%len(s.targets)]
		m, err := measure(t, s.scratch, l)
		if err != nil {
			return fmt.Errorf("%s with %d connections, %s: %w", t.name, l.conns, unit, err)
		}
		m.Round = round
		*to = append(*to, m)
		progress("round %d  %-12s c=%-3d p50 %7.2f  p99 %7.2f ms  %5.0f us CPU  %8.0f %s",
			round+1, t.name, l.conns, m.P50, m.P99, m.CPUMicros, m.RPS, unit)
	}
	return nil
}

// idleStreams measures the memory of open streams: of one task, and of a task each.
func (s *session) idleStreams() error {
	for _, own := range []bool{false, true} {
		for _, t := range s.targets {
			skip := t.name == oursMemory || own && t.name == floor // the streams of the durable one; no tasks
			if len(s.idle) == 0 || skip {
				continue
			}
			got, err := measureIdle(t, s.scratch, s.idle, own, s.slice)
			if err != nil {
				return fmt.Errorf("%s with idle streams: %w", t.name, err)
			}
			s.res.Idle = append(s.res.Idle, got...)
			for _, m := range got {
				progress("%-12s %5d idle streams of %s  %6.1f KB each", t.name, m.Streams, m.tasks(), m.KB)
			}
		}
	}
	return nil
}

// fanOuts measures one task with many subscribers.
func (s *session) fanOuts() error {
	for _, t := range s.targets {
		if s.fanOut == 0 {
			break
		}
		m, err := measureFanOut(t, s.scratch, s.fanOut, s.slice)
		if err != nil {
			return fmt.Errorf("%s with %d subscribers: %w", t.name, s.fanOut, err)
		}
		s.res.FanOut = append(s.res.FanOut, m)
		progress("%-12s %5d subscribers  %5.1f us CPU per event each, spread %.0f ms", t.name, m.Subscribers, m.CPUMicros, m.Spread)
	}
	return nil
}

// peerChunks is the largest number of chunks that peers are asked for: their time
// grows with the square.
const peerChunks = 2000

// manyChunks measures tasks of many chunks.
func (s *session) manyChunks() error {
	for _, t := range s.targets {
		var counts []int
		for _, n := range s.chunks {
			if n <= peerChunks || t.name == oursDurable || t.name == oursMemory {
				counts = append(counts, n)
			}
		}
		if len(counts) == 0 || t.name == floor { // it has no task to append to
			continue
		}
		got, err := measureChunks(t, s.scratch, counts)
		if err != nil {
			return fmt.Errorf("%s with many chunks: %w", t.name, err)
		}
		s.res.Chunks = append(s.res.Chunks, got...)
		for _, m := range got {
			progress("%-12s %5d chunks  %8.1f ms, %6.1f us each", t.name, m.Chunks, m.MS, m.perChunk())
		}
	}
	return nil
}

// hangingWebhooks measures deliveries beside webhooks that do not answer.
func (s *session) hangingWebhooks() error {
	for _, t := range s.targets {
		if s.hooks == 0 || t.name != oursDurable {
			continue
		}
		m, err := measurePushes(t, s.scratch, s.hooks, 3*s.slice)
		if err != nil {
			return fmt.Errorf("%s with %d webhooks: %w", t.name, s.hooks, err)
		}
		s.res.Pushes = &m
		progress("%-12s %5d webhooks, %d hang; the others p50 %.1f p99 %.1f ms", t.name, m.Receivers, m.Hanging, m.P50, m.P99)
	}
	return nil
}
