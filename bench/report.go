package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// results is all that a run found out; it is written as JSON.
type results struct {
	Machine  machine   `json:"machine"`
	Started  time.Time `json:"started"`
	Targets  []string  `json:"targets"`
	BinaryMB float64   `json:"binary_mb"`
	// FsyncMS are medians of an append and fsync, one for each group of slices.
	FsyncMS []float64 `json:"fsync_ms"`
	Closed  []sample  `json:"closed"`
	Streams []sample  `json:"streams"`
	Open    []sample  `json:"open"`
	Idle    []idle    `json:"idle"`
	FanOut  []fanOut  `json:"fan_out"`
	Chunks  []chunked `json:"chunks"`
	Pushes  *pushes   `json:"pushes,omitempty"`
	Cold    *cold     `json:"cold,omitempty"`
	Goals   []goal    `json:"goals,omitempty"`
}

type machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Go     string `json:"go"`
	Kernel string `json:"kernel"`
}

func thisMachine() machine {
	m := machine{Cores: runtime.NumCPU(), Go: runtime.Version()}
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				m.CPU = strings.TrimSpace(value)
				break
			}
		}
	}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(b))
	}
	return m
}

func itoa(n int) string { return strconv.Itoa(n) }

func p50Of(s sample) float64    { return s.P50 }
func p99Of(s sample) float64    { return s.P99 }
func cpuOf(s sample) float64    { return s.CPUMicros }
func rpsOf(s sample) float64    { return s.RPS }
func rssOf(s sample) float64    { return s.RSSMB }
func othersOf(s sample) float64 { return s.Others }

func column(samples []sample, of func(sample) float64) []float64 {
	out := make([]float64, len(samples))
	for i, s := range samples {
		out[i] = of(s)
	}
	return out
}

// of returns the slices of a target with that many connections, in the order of
// rounds. conns of 0 is any number.
func of(samples []sample, name string, conns int) []sample {
	var out []sample
	for _, s := range samples {
		if s.Target == name && (conns == 0 || s.Conns == conns) {
			out = append(out, s)
		}
	}
	return out
}

// ratios returns the throughput of one target over that of another, for each round.
func ratios(samples []sample, name, than string, conns int) []float64 {
	a, b := of(samples, name, conns), of(samples, than, conns)
	var out []float64
	for i := range min(len(a), len(b)) {
		if b[i].RPS > 0 {
			out = append(out, a[i].RPS/b[i].RPS)
		}
	}
	return out
}

func (r *results) met() bool {
	return !slices.ContainsFunc(r.Goals, func(g goal) bool { return !g.Met })
}

// quiet is the part of the machine that other processes may take before the
// numbers are to be doubted.
const quiet = 0.05

// print writes the tables for people: medians over the rounds.
func (r *results) print(w io.Writer) {
	fmt.Fprintf(w, "\n%s, %d cores, %s, Linux %s\n", r.Machine.CPU, r.Machine.Cores, r.Machine.Go, r.Machine.Kernel)
	fmt.Fprintf(w, "append 4 KiB + fsync: p50 %.3f ms; stripped binary: %.1f MB\n", median(r.FsyncMS), r.BinaryMB)
	table(w, "req/s", r.Targets, r.Closed)
	table(w, "streams/s", r.Targets, r.Streams)
	if len(r.Open) > 0 {
		table(w, fmt.Sprintf("at %d/s", r.Open[0].Rate), r.Targets, r.Open)
	}
	r.printMore(w)
	if r.Cold != nil {
		fmt.Fprintf(w, "\ncold start with a database of %.0f MB: %.1f ms (slowest %.1f) of %d starts; a2a-go %.1f ms; floor %.1f ms\n",
			r.Cold.DatabaseMB, median(r.Cold.Ours), slices.Max(r.Cold.Ours), len(r.Cold.Ours),
			median(r.Cold.A2AGo), median(r.Cold.Floor))
	}
	if busy := median(column(r.Closed, othersOf)); busy > quiet {
		fmt.Fprintf(w, "\nother processes took %.0f %% of the machine: measure again when it is quiet\n", 100*busy)
	}
	fmt.Fprintln(w)
	for _, g := range r.Goals {
		word, sign := "ok    ", ">="
		if !g.Met {
			word = "MISSED"
		}
		if g.AtMost {
			sign = "<="
		}
		fmt.Fprintf(w, "%s %-55s %8.2f %s %s %.2f\n", word, g.Name, g.Got, g.Unit, sign, g.Want)
	}
}

// table writes one line for each target and number of connections.
func table(w io.Writer, unit string, targets []string, samples []sample) {
	if len(samples) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%-13s %5s %9s %9s %9s %8s %8s %9s %9s %9s %8s\n",
		"target", "conns", unit, "p50 ms", "p99 ms", "CPU us", "RSS MB", "x floor", "x a2a-go", "x a2a-js", "others %")
	var conns []int
	for _, s := range samples {
		if !slices.Contains(conns, s.Conns) {
			conns = append(conns, s.Conns)
		}
	}
	for _, c := range conns {
		for _, name := range targets {
			s := of(samples, name, c)
			against := func(than string) string {
				all := ratios(samples, name, than, c)
				if len(all) == 0 {
					return "-"
				}
				return fmt.Sprintf("%.2f", median(all))
			}
			fmt.Fprintf(w, "%-13s %5d %9.0f %9.3f %9.2f %8.0f %8.0f %9s %9s %9s %8.1f\n", name, c,
				median(column(s, rpsOf)), median(column(s, p50Of)), median(column(s, p99Of)),
				median(column(s, cpuOf)), median(column(s, rssOf)),
				against(floor), against(a2aGo), against(a2aJS), 100*median(column(s, othersOf)))
		}
	}
}

// printMore writes what was measured once.
func (r *results) printMore(w io.Writer) {
	for i, m := range r.Idle {
		if i == 0 {
			fmt.Fprintf(w, "\n%-13s %9s %-12s %9s\n", "target", "idle", "streams of", "KB each")
		}
		fmt.Fprintf(w, "%-13s %9d %-12s %9.1f\n", m.Target, m.Streams, m.tasks(), m.KB)
	}
	for i, m := range r.FanOut {
		if i == 0 {
			fmt.Fprintf(w, "\n%-13s %9s %9s %9s %8s\n", "target", "readers", "CPU us", "spread ms", "RSS MB")
		}
		fmt.Fprintf(w, "%-13s %9d %9.1f %9.1f %8.0f\n", m.Target, m.Subscribers, m.CPUMicros, m.Spread, m.RSSMB)
	}
	for i, m := range r.Chunks {
		if i == 0 {
			fmt.Fprintf(w, "\n%-13s %9s %9s %9s\n", "target", "chunks", "ms", "us each")
		}
		fmt.Fprintf(w, "%-13s %9d %9.1f %9.1f\n", m.Target, m.Chunks, m.MS, m.perChunk())
	}
	if p := r.Pushes; p != nil {
		fmt.Fprintf(w, "\n%d webhooks, %d of them hang: %d ends told to the others, p50 %.1f ms, p99 %.1f ms, slowest %.1f ms\n",
			p.Receivers, p.Hanging, p.Tasks, p.P50, p.P99, p.Max)
	}
}

// write stores the results under dir, in a file named after the time.
func (r *results) write(dir string) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	file := filepath.Join(dir, r.Started.Format("20060102-150405")+".json")
	if err := os.WriteFile(file, append(b, '\n'), 0o644); err != nil {
		return err
	}
	fmt.Println("\nwritten to", file)
	return nil
}
