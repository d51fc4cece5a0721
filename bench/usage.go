package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// reading is what the meters of a process and of the machine show.
type reading struct {
	at       time.Time
	cpu      time.Duration // of the process
	all, own time.Duration // of the machine, and of this process
}

// used is what was used since a reading.
type used struct {
	elapsed time.Duration
	cpu     time.Duration // of the process
	rssKB   int           // of the process, now
	// others is the part of the machine that neither the process nor this one took.
	others float64
}

func (p *process) meter() (r reading, err error) {
	if r.cpu, _, err = p.usage(); err != nil {
		return r, err
	}
	r.all, r.own, err = machineUsage()
	r.at = time.Now()
	return r, err
}

func (p *process) since(before reading) (u used, err error) {
	u.elapsed = time.Since(before.at)
	cpu, rss, err := p.usage()
	if err != nil {
		return u, err
	}
	all, own, err := machineUsage()
	if err != nil {
		return u, err
	}
	u.cpu, u.rssKB = cpu-before.cpu, rss
	others := (all - before.all) - (own - before.own) - u.cpu
	u.others = max(0, others.Seconds()/u.elapsed.Seconds()/float64(runtime.NumCPU()))
	return u, nil
}

// allowFiles makes the limit on open files of this process, and so of the servers it
// starts, as high as it may be; it fails if that is less than need.
func allowFiles(need uint64) error {
	var lim syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim); err != nil {
		return fmt.Errorf("read limit on open files: %w", err)
	}
	if lim.Max < need {
		return fmt.Errorf("at most %d files may be open, %d are needed: raise the hard limit (ulimit -Hn) or lower -idle and -fanout", lim.Max, need)
	}
	// Go raises the soft limit by itself, but not for the programs it starts.
	lim.Cur = lim.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &lim); err != nil {
		return fmt.Errorf("raise limit on open files: %w", err)
	}
	return nil
}

// usage returns the CPU time the process has used and its resident memory.
func (p *process) usage() (cpu time.Duration, rssKB int, err error) {
	dir := fmt.Sprintf("/proc/%d/", p.cmd.Process.Pid)
	b, err := os.ReadFile(dir + "stat")
	if err != nil {
		return 0, 0, err
	}
	// The name in parentheses may hold spaces; utime and stime are the 12th and
	// 13th fields after it.
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(fields) < 13 {
		return 0, 0, errors.New("read " + dir + "stat: too short")
	}
	if cpu, err = sumTicks(fields[11:13]); err != nil {
		return 0, 0, err
	}
	b, err = os.ReadFile(dir + "status")
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			rssKB, err = strconv.Atoi(strings.Fields(rest)[0])
		}
	}
	return cpu, rssKB, err
}

// machineUsage returns the CPU time used by all processes (time stolen from this
// machine by its host included) and by this one.
func machineUsage() (all, own time.Duration, err error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, err
	}
	// cpu user nice system idle iowait irq softirq steal …
	line, _, _ := strings.Cut(string(b), "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 {
		return 0, 0, errors.New("read /proc/stat: too short")
	}
	if all, err = sumTicks([]string{fields[1], fields[2], fields[3], fields[8]}); err != nil {
		return 0, 0, err
	}
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0, 0, err
	}
	return all, time.Duration(r.Utime.Nano() + r.Stime.Nano()), nil
}

// sumTicks adds numbers of ticks of 10 ms, the unit of /proc.
func sumTicks(fields []string) (time.Duration, error) {
	var sum time.Duration
	for _, f := range fields {
		ticks, err := strconv.Atoi(f)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(ticks) * 10 * time.Millisecond
	}
	return sum, nil
}
