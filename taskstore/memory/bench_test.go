package memory_test

import (
	"testing"

	"github.com/skillyard/skillyard/taskstore"
	"github.com/skillyard/skillyard/taskstore/memory"
	"github.com/skillyard/skillyard/taskstore/storetest"
)

func BenchmarkStore(b *testing.B) {
	storetest.Bench(b, func(testing.TB) taskstore.Store { return memory.New(memory.Options{}) })
}
