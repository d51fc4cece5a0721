package sqlite

import (
	"os"

	"golang.org/x/sys/windows"
)

// tryLock takes the lock on f, or fails if somebody holds it. The lock ends
// with the process, however that ends. It covers a byte far behind the process
// id in the file, which stays readable for others.
func tryLock(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
		&windows.Overlapped{Offset: 1 << 30})
}
