// Command bench measures this server against other A2A servers on the same
// machine and in the same minutes, over kept-alive connections of A2A 1.0: an echo
// task by the blocking SendMessage, and a task of ten chunks by SendStreamingMessage.
// Besides that it measures what an open stream costs, what it costs to tell a
// thousand streams of an event, how long tasks of very many chunks take, how webhooks
// that answer fare beside some that do not, and starts.
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
	streams  int           // connections of the streaming slices; 0 for none
	idle     []int         // numbers of idle streams; nil for none
	fanOut   int           // subscribers of one task; 0 for none
	chunks   []int         // numbers of chunks in one task; nil for none
	hooks    int           // webhooks, some of which hang; 0 for none
	dbMB     int           // size of the database of the cold start; 0 for none
	starts   int           // cold starts
	only     string        // measure these targets only
	judged   bool          // compare with the goals
}

func main() {
	p := plan{conns: []int{1, 32, 256}, idle: []int{1000, 5000}, chunks: []int{500, 2000, 8000}}
	flag.StringVar(&p.root, "root", "..", "the repository to build the server from")
	flag.StringVar(&p.server, "server", "", "a skillyard that is already built, instead of building one")
	flag.StringVar(&p.out, "out", "results", "directory for results and scratch data; its disk is the one measured")
	flag.IntVar(&p.rounds, "rounds", 3, "interleaved rounds")
	flag.DurationVar(&p.warm, "warm", 750*time.Millisecond, "uncounted time before each slice")
	flag.DurationVar(&p.slice, "slice", 3*time.Second, "length of a slice")
	flag.IntVar(&p.openRate, "open", 500, "requests per second of the open-loop slices; 0 leaves them out")
	flag.IntVar(&p.streams, "streams", 32, "connections of the streaming slices; 0 leaves them out")
	flag.IntVar(&p.fanOut, "fanout", 1000, "subscribers of one task; 0 leaves them out")
	flag.IntVar(&p.hooks, "hooks", 200, "webhooks, one in a hundred of which hangs; 0 leaves them out")
	flag.Func("conns", "numbers of connections (default 1,32,256)", numbers(&p.conns))
	flag.Func("idle", "numbers of idle streams; empty leaves them out (default 1000,5000)", numbers(&p.idle))
	flag.Func("chunks", "numbers of chunks in one task; empty leaves them out (default 500,2000,8000)", numbers(&p.chunks))
	flag.IntVar(&p.dbMB, "db", 240, "database size of the cold start in MB; 0 leaves it out")
	flag.IntVar(&p.starts, "starts", 9, "cold starts")
	flag.StringVar(&p.only, "only", "", "comma list of targets; goals that need others are left out")
	procs := flag.Int("procs", 1, "threads of the driver")
	goals := flag.String("goals", "fail", "what a missed goal does: fail (exit with 1), show, or none (goals are not looked at)")
	flag.Parse()
	if !slices.Contains([]string{"fail", "show", "none"}, *goals) {
		fail(fmt.Errorf("read -goals: %q is not fail, show or none", *goals))
	}
	p.judged = *goals != "none"
	runtime.GOMAXPROCS(*procs)
	files := p.fanOut
	if n := len(p.idle); n > 0 {
		files = max(files, p.idle[n-1])
	}
	if err := allowFiles(uint64(files + 1000)); err != nil {
		fail(err)
	}
	met, err := run(p)
	if err != nil {
		fail(err)
	}
	if !met && *goals == "fail" {
		os.Exit(1)
	}
}

// numbers returns a flag's function that reads a rising comma list.
func numbers(to *[]int) func(string) error {
	return func(list string) error {
		*to = nil
		for f := range strings.SplitSeq(list, ",") {
			if list == "" {
				break
			}
			n, err := strconv.Atoi(f)
			if err != nil || n < 1 || len(*to) > 0 && n <= (*to)[len(*to)-1] {
				return fmt.Errorf("%q is not a rising list of numbers", list)
			}
			*to = append(*to, n)
		}
		return nil
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "bench:", err)
	os.Exit(2)
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
