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
	atLeast := func(ours string, conns int, than string, want float64) {
		if got := median(r.ratios(ours, than, conns)); got > 0 {
			add(ours+" c"+itoa(conns)+" against "+than, got, want, false, "x")
		}
	}
	atLeast(oursMemory, 32, floor, 0.60)
	atLeast(oursMemory, 32, a2aGo, 12)
	if s := r.closed(oursMemory, 32); len(s) > 0 {
		add("CPU per request of "+oursMemory+" c32", median(column(s, cpuOf)), 80, true, "us")
	}
	atLeast(oursDurable, 32, a2aGo, 5)
	atLeast(oursDurable, 32, a2aJS, 3)
	atLeast(oursDurable, 32, floor, 0.18)
	atLeast(oursDurable, 256, a2aGo, 8)
	atLeast(oursDurable, 256, a2aJS, 5)
	atLeast(oursDurable, 256, floor, 0.28)
	if ours, base := r.closed(oursDurable, 1), r.closed(floor, 1); len(ours) > 0 && len(base) > 0 {
		limit := median(column(base, p50Of)) + 5*median(r.FsyncMS)
		add("p50 of "+oursDurable+" c1 against floor + 5 fsyncs", median(column(ours, p50Of)), limit, true, "ms")
	}
	if ours, base := r.open(oursDurable), r.open(floor); len(ours) > 0 && len(base) > 0 {
		add("open loop p50 against floor + 1 ms", median(column(ours, p50Of)), median(column(base, p50Of))+1, true, "ms")
		add("open loop p99 against floor + 8 ms", median(column(ours, p99Of)), median(column(base, p99Of))+8, true, "ms")
		if peer := r.open(a2aGo); len(peer) > 0 {
			add("open loop p99 against "+a2aGo, median(column(ours, p99Of)), median(column(peer, p99Of)), true, "ms")
		}
	}
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
