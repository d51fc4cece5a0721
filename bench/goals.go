package main

// goal is one bound and what was measured.
type goal struct {
	Name string  `json:"name"`
	Got  float64 `json:"got"`
	Want float64 `json:"want"`
	// AtMost tells that Got must not exceed Want; otherwise it must reach it.
	AtMost bool   `json:"at_most"`
	Unit   string `json:"unit"`
	Met    bool   `json:"met"`
}

// judge compares the results with the goals. Ratios are taken within a round,
// where both sides saw the same machine, and then the median over the rounds.
// Goals whose targets or connection counts were not measured are left out.
func judge(r *results) []goal {
	var goals []goal
	add := func(name string, got, want float64, atMost bool, unit string) {
		met := got >= want
		if atMost {
			met = got <= want
		}
		goals = append(goals, goal{Name: name, Got: got, Want: want, AtMost: atMost, Unit: unit, Met: met})
	}
	atLeast := func(what string, samples []sample, ours string, conns int, than string, want float64) {
		if got := median(ratios(samples, ours, than, conns)); got > 0 {
			add(what+ours+" c"+itoa(conns)+" against "+than, got, want, false, "x")
		}
	}
	atLeast("", r.Closed, oursMemory, 32, floor, 0.60)
	atLeast("", r.Closed, oursMemory, 32, a2aGo, 12)
	if s := of(r.Closed, oursMemory, 32); len(s) > 0 {
		add("CPU per request of "+oursMemory+" c32", median(column(s, cpuOf)), 80, true, "us")
	}
	atLeast("", r.Closed, oursDurable, 32, a2aGo, 5)
	atLeast("", r.Closed, oursDurable, 32, a2aJS, 3)
	atLeast("", r.Closed, oursDurable, 32, floor, 0.18)
	atLeast("", r.Closed, oursDurable, 256, a2aGo, 8)
	atLeast("", r.Closed, oursDurable, 256, a2aJS, 5)
	atLeast("", r.Closed, oursDurable, 256, floor, 0.28)
	if ours, base := of(r.Closed, oursDurable, 1), of(r.Closed, floor, 1); len(ours) > 0 && len(base) > 0 {
		limit := median(column(base, p50Of)) + 5*median(r.FsyncMS)
		add("p50 of "+oursDurable+" c1 against floor + 5 fsyncs", median(column(ours, p50Of)), limit, true, "ms")
	}
	if ours, base := of(r.Open, oursDurable, 0), of(r.Open, floor, 0); len(ours) > 0 && len(base) > 0 {
		add("open loop p50 against floor + 1 ms", median(column(ours, p50Of)), median(column(base, p50Of))+1, true, "ms")
		add("open loop p99 against floor + 8 ms", median(column(ours, p99Of)), median(column(base, p99Of))+8, true, "ms")
		if peer := of(r.Open, a2aGo, 0); len(peer) > 0 {
			add("open loop p99 against "+a2aGo, median(column(ours, p99Of)), median(column(peer, p99Of)), true, "ms")
		}
	}
	atLeast("streams of ", r.Streams, oursDurable, 32, a2aGo, 7)
	atLeast("streams of ", r.Streams, oursDurable, 32, a2aJS, 3)
	atLeast("streams of ", r.Streams, oursMemory, 32, floor, 1)
	live(r, add)
	if r.Cold != nil {
		add("cold start with the filled database", median(r.Cold.Ours), 60, true, "ms")
		if len(r.Cold.A2AGo) > 0 {
			add("cold start against 2 x "+a2aGo, median(r.Cold.Ours), 2*median(r.Cold.A2AGo), true, "ms")
		}
	}
	if r.BinaryMB > 0 {
		add("stripped binary", r.BinaryMB, 25, true, "MB")
	}
	return goals
}

// live adds the goals of what was measured once.
func live(r *results, add func(name string, got, want float64, atMost bool, unit string)) {
	const memory, peer, cpu, others, steep = 32, 0.4, 45, 1000, 1.5
	for _, m := range r.Idle {
		if m.Target != oursDurable {
			continue
		}
		name := "memory of " + itoa(m.Streams) + " idle streams of " + m.tasks()
		if !m.Own {
			add(name, m.KB, memory, true, "KB")
		}
		for _, o := range r.Idle {
			if o.Target == a2aGo && o.Streams == m.Streams && o.Own == m.Own && o.KB > 0 {
				add(name+", against "+a2aGo, m.KB/o.KB, peer, true, "x")
			}
		}
	}
	for _, m := range r.FanOut {
		if m.Target == oursDurable {
			add("CPU per event for each of "+itoa(m.Subscribers)+" subscribers", m.CPUMicros, cpu, true, "us")
		}
	}
	var first *chunked
	for i, m := range r.Chunks {
		switch {
		case m.Target != oursDurable:
		case first == nil:
			first = &r.Chunks[i]
		default:
			add("time per chunk, "+itoa(m.Chunks)+" against "+itoa(first.Chunks), m.perChunk()/first.perChunk(), steep, true, "x")
		}
	}
	if p := r.Pushes; p != nil {
		add("p99 of webhooks beside "+itoa(p.Hanging)+" of "+itoa(p.Receivers)+" that hang", p.P99, others, true, "ms")
	}
}
