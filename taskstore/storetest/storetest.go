// Package storetest is the contract of package taskstore as tests. A store
// exists when it passes Run, and is durable when it passes RunDurable.
//
// The suite plays the engine's part by hand: it makes tasks, folds events into
// them with a2a.Task.Apply and checks after every step that the store's log
// folds to the store's snapshot. It knows nothing of a store but the interface.
package storetest

import (
	"testing"

	"github.com/skillyard/skillyard/taskstore"
)

// OpenFunc returns a new, empty store. The suite closes it.
type OpenFunc func(t testing.TB) taskstore.Store

// OpenDirFunc opens the store kept in dir, or makes it there. The suite closes
// it, or kills the process that holds it.
type OpenDirFunc func(t testing.TB, dir string) taskstore.Store

// Run checks everything that needs no second life of the store.
func Run(t *testing.T, open OpenFunc) {
	groups := []struct {
		name  string
		cases map[string]func(*fixture)
	}{
		{"Submit", submitCases()},
		{"Rerun", rerunCases()},
		{"Key", keyCases()},
		{"Keyed", keyedCases()},
		{"Append", appendCases()},
		{"Fence", fenceCases()},
		{"Update", updateCases()},
		{"Lease", leaseCases()},
		{"Query", queryCases()},
		{"Scope", scopeCases()},
		{"Prune", pruneCases()},
		{"PushConfig", pushConfigCases()},
		{"PushClaim", pushClaimCases()},
		{"PushDead", pushDeadCases()},
		{"Race", raceCases()},
		{"Close", closeCases()},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			for name, check := range g.cases {
				t.Run(name, func(t *testing.T) { check(newFixture(t, open(t))) })
			}
		})
	}
}
