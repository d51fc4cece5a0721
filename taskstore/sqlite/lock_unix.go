//go:build unix

package sqlite

import (
	"os"

	"golang.org/x/sys/unix"
)

// tryLock takes the lock on f, or fails if somebody holds it. The lock ends
// with the process, however that ends.
func tryLock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
