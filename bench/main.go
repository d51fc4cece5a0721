// Command bench measures this server against other A2A servers on the same
// machine and in the same minutes: an echo task by the blocking SendMessage of
// A2A 1.0, over kept-alive connections.
//
// It drives the server with its durable store and with its memory store, two
// peers (a2a-go and @a2a-js/sdk on express, both with their in-memory stores)
// and a floor (chi and encoding/json, no engine). Rounds are interleaved, every
// slice gets a fresh process and an empty data directory, and every answer is
// checked. Driver and server share the machine's cores, so the driver is one
// thread that writes and reads HTTP by hand. Only ratios carry over to other
// machines; the goals are ratios and a few absolute bounds.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// plan is what one run measures.
type plan struct {
	root     string        // the repository
	server   string        // a built skillyard; "" builds one
	out      string        // where results and scratch data go
	conns    []int         // numbers of connections
	rounds   int           // rounds of closed-loop slices
	warm     time.Duration // before each slice, not counted
	slice    time.Duration // length of a slice
	openRate int           // requests per second of the open-loop slices; 0 for none
	dbMB     int           // size of the database of the cold start; 0 for none
	starts   int           // cold starts
	only     string        // measure these targets only
	judged   bool          // compare with the goals
}

func main() {
	var p plan
	conns := flag.String("conns", "1,32,256", "numbers of connections")
	flag.StringVar(&p.root, "root", "..", "the repository to build the server from")
	flag.StringVar(&p.server, "server", "", "a skillyard that is already built, instead of building one")
	flag.StringVar(&p.out, "out", "results", "directory for results and scratch data; its disk is the one measured")
	flag.IntVar(&p.rounds, "rounds", 3, "interleaved rounds")
	flag.DurationVar(&p.warm, "warm", time.Second, "uncounted time before each slice")
	flag.DurationVar(&p.slice, "slice", 4*time.Second, "length of a slice")
	flag.IntVar(&p.openRate, "open", 500, "requests per second of the open-loop slices; 0 leaves them out")
	flag.IntVar(&p.dbMB, "db", 240, "database size of the cold start in MB; 0 leaves it out")
	flag.IntVar(&p.starts, "starts", 9, "cold starts")
	flag.StringVar(&p.only, "only", "", "comma list of targets; goals that need others are left out")
	procs := flag.Int("procs", 1, "threads of the driver")
	goals := flag.String("goals", "fail", "what a missed goal does: fail (exit with 1), show, or none (goals are not looked at)")
	flag.Parse()
	for _, f := range strings.Split(*conns, ",") {
		n, err := strconv.Atoi(f)
		if err != nil || n < 1 {
			fail(fmt.Errorf("read -conns: %q is not a number of connections", f))
		}
		p.conns = append(p.conns, n)
	}
	if !slices.Contains([]string{"fail", "show", "none"}, *goals) {
		fail(fmt.Errorf("read -goals: %q is not fail, show or none", *goals))
	}
	p.judged = *goals != "none"
	runtime.GOMAXPROCS(*procs)
	met, err := run(p)
	if err != nil {
		fail(err)
	}
	if !met && *goals == "fail" {
		os.Exit(1)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "bench:", err)
	os.Exit(2)
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
	res := results{Machine: thisMachine(), Started: time.Now().UTC(), Targets: names(targets)}
	if binary != "" {
		info, err := os.Stat(binary)
		if err != nil {
			return false, err
		}
		res.BinaryMB = float64(info.Size()) / 1e6
	}
	for round := range p.rounds {
		for _, c := range p.conns {
			fsync, err := measureFsync(scratch)
			if err != nil {
				return false, err
			}
			res.FsyncMS = append(res.FsyncMS, fsync)
			for i := range targets {
				t := targets[(i+round)%len(targets)]
				m, err := measure(t, scratch, load{conns: c, warm: p.warm, slice: p.slice})
				if err != nil {
					return false, fmt.Errorf("%s with %d connections: %w", t.name, c, err)
				}
				m.Round = round
				res.Closed = append(res.Closed, m)
				progress("round %d  %-12s c=%-3d %8.0f req/s  p50 %7.2f  p99 %7.2f ms  %5.0f us CPU",
					round+1, t.name, c, m.RPS, m.P50, m.P99, m.CPUMicros)
			}
		}
		for i := range targets {
			if p.openRate == 0 {
				break
			}
			t := targets[(i+round)%len(targets)]
			m, err := measure(t, scratch, load{conns: 64, warm: p.warm, slice: p.slice, rate: p.openRate})
			if err != nil {
				return false, fmt.Errorf("%s at %d/s: %w", t.name, p.openRate, err)
			}
			m.Round = round
			res.Open = append(res.Open, m)
			progress("round %d  %-12s %d/s  p50 %7.2f  p99 %7.2f ms", round+1, t.name, p.openRate, m.P50, m.P99)
		}
	}
	if p.dbMB > 0 {
		if res.Cold, err = coldStarts(targets, scratch, p); err != nil {
			return false, err
		}
	}
	if p.judged {
		res.Goals = judge(&res)
	}
	res.print(os.Stdout)
	return res.met(), res.write(p.out)
}

// cleanWhenStopped removes the scratch data also when the run is interrupted; the
// servers end with their parent.
func cleanWhenStopped(scratch string) {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	go func() {
		<-stop
		if err := os.RemoveAll(scratch); err != nil {
			fail(err)
		}
		os.Exit(130)
	}()
}

// progress prints a line of what is being done.
func progress(format string, args ...any) {
	fmt.Printf("%s %s\n", time.Now().Format("15:04:05"), fmt.Sprintf(format, args...))
}
