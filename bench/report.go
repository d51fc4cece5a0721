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
	Open    []sample  `json:"open"`
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

// closed returns the closed-loop slices of a target, in the order of rounds.
func (r *results) closed(name string, conns int) []sample {
	var out []sample
	for _, s := range r.Closed {
		if s.Target == name && s.Conns == conns {
			out = append(out, s)
		}
	}
	return out
}

// open returns the open-loop slices of a target, in the order of rounds.
func (r *results) open(name string) []sample {
	var out []sample
	for _, s := range r.Open {
		if s.Target == name {
			out = append(out, s)
		}
	}
	return out
}

// ratios returns the throughput of one target over that of another, for each round.
func (r *results) ratios(name, than string, conns int) []float64 {
	a, b := r.closed(name, conns), r.closed(than, conns)
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
	fmt.Fprintf(w, "\n%-13s %5s %9s %9s %9s %8s %8s %9s %9s %9s %8s\n",
		"target", "conns", "req/s", "p50 ms", "p99 ms", "CPU us", "RSS MB", "x floor", "x a2a-go", "x a2a-js", "others %")
	var conns []int
	for _, s := range r.Closed {
		if !slices.Contains(conns, s.Conns) {
			conns = append(conns, s.Conns)
		}
	}
	for _, c := range conns {
		for _, name := range r.Targets {
			s := r.closed(name, c)
			fmt.Fprintf(w, "%-13s %5d %9.0f %9.3f %9.2f %8.0f %8.0f %9s %9s %9s %8.1f\n", name, c,
				median(column(s, rpsOf)), median(column(s, p50Of)), median(column(s, p99Of)),
				median(column(s, cpuOf)), median(column(s, rssOf)),
				r.ratio(name, floor, c), r.ratio(name, a2aGo, c), r.ratio(name, a2aJS, c),
				100*median(column(s, othersOf)))
		}
	}
	for i, name := range r.Targets {
		s := r.open(name)
		if len(s) == 0 {
			break
		}
		if i == 0 {
			fmt.Fprintf(w, "\nopen loop, %d/s\n", s[0].Rate)
		}
		fmt.Fprintf(w, "%-13s %5d %9.0f %9.3f %9.2f\n", name, s[0].Conns,
			median(column(s, rpsOf)), median(column(s, p50Of)), median(column(s, p99Of)))
	}
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
		fmt.Fprintf(w, "%s %-50s %8.2f %s %s %.2f\n", word, g.Name, g.Got, g.Unit, sign, g.Want)
	}
}

func (r *results) ratio(name, than string, conns int) string {
	ratios := r.ratios(name, than, conns)
	if len(ratios) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", median(ratios))
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
