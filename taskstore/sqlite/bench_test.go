package sqlite_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/skillyard/skillyard/taskstore"
	"github.com/skillyard/skillyard/taskstore/sqlite"
	"github.com/skillyard/skillyard/taskstore/storetest"
)

func openWith(t testing.TB, o sqlite.Options) taskstore.Store {
	t.Helper()
	o.Path = filepath.Join(t.TempDir(), "tasks.db")
	s, err := sqlite.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func BenchmarkStore(b *testing.B) {
	storetest.Bench(b, func(t testing.TB) taskstore.Store { return openWith(t, sqlite.Options{}) })
}

// BenchmarkCompare measures the choices of this package against each other and
// against the disk, in turns within one run, since machines differ and change.
// The last line is about ratios: group commit against one transaction per step,
// FULL against NORMAL, and a life at one worker in syncs of the disk.
func BenchmarkCompare(b *testing.B) {
	variants := []struct {
		name           string
		workers, tasks int
		options        sqlite.Options
	}{
		{"full-1", 1, 1000, sqlite.Options{}},
		{"full-32", 32, 6000, sqlite.Options{}},
		{"full-256", 256, 20_000, sqlite.Options{}},
		{"normal-32", 32, 6000, sqlite.Options{Synchronous: "NORMAL"}},
		{"normal-256", 256, 20_000, sqlite.Options{Synchronous: "NORMAL"}},
		{"per-step-32", 32, 1000, sqlite.Options{BatchLimit: 1}},
	}
	const rounds = 5
	rates, p50s := map[string][]float64{}, map[string][]float64{}
	stores := make([]taskstore.Store, len(variants))
	for i, v := range variants {
		stores[i] = openWith(b, v.options)
		defer stores[i].Close()
	}
	for b.Loop() {
		for range rounds {
			p50s["sync"] = append(p50s["sync"], float64(syncTime(b).Microseconds()))
			for i, v := range variants {
				// So that none pays for what another one left unsynced. Where there is
				// no such command, that is as it is.
				_ = exec.Command("sync").Run()
				m := storetest.Lifecycles(b, stores[i], v.workers, v.tasks)
				rates[v.name] = append(rates[v.name], m.PerSecond)
				p50s[v.name] = append(p50s[v.name], float64(m.P50.Microseconds()))
			}
		}
	}
	for _, v := range variants {
		b.ReportMetric(median(rates[v.name]), v.name+"-tasks/s")
	}
	b.ReportMetric(median(p50s["sync"]), "sync-us")
	b.ReportMetric(median(p50s["full-1"])/median(p50s["sync"])/2, "x-two-syncs")
	b.ReportMetric(median(rates["full-32"])/median(rates["per-step-32"]), "x-per-step")
	b.ReportMetric(median(rates["full-32"])/median(rates["normal-32"]), "x-normal-32")
	b.ReportMetric(median(rates["full-256"])/median(rates["normal-256"]), "x-normal-256")
}

// syncTime is the median time to append 1 KB to a file and sync it.
func syncTime(b *testing.B) time.Duration {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "sync"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var took []time.Duration
	kilobyte := make([]byte, 1024)
	for range 300 {
		at := time.Now()
		if _, err := f.Write(kilobyte); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(at))
	}
	slices.Sort(took)
	return took[len(took)/2]
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}
