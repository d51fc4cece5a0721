package client_test

import (
	"testing"

	"go.uber.org/goleak"
)

// A call leaves nothing behind: no goroutine, no open body.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
