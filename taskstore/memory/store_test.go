package memory_test

import (
	"testing"

	"github.com/skillyard/skillyard/taskstore"
	"github.com/skillyard/skillyard/taskstore/memory"
	"github.com/skillyard/skillyard/taskstore/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(testing.TB) taskstore.Store { return memory.New(memory.Options{}) })
}
