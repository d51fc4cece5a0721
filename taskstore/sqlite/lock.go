package sqlite

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// lock makes this process the only user of the database, by a lock on a file
// beside it. SQLite itself would let a second process in, and the two would take
// each other's runs for those of a dead process.
func lock(database string) (*os.File, error) {
	name := database + ".lock"
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := tryLock(f); err != nil {
		by := ""
		if pid := holder(f); pid != 0 {
			by = fmt.Sprintf(" by process %d", pid)
		}
		f.Close()
		return nil, fmt.Errorf("database %s is in use%s (lock file %s): %w", database, by, name, err)
	}
	// The number is for the message above only.
	if err := f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("write lock file: %w", err)
	}
	return f, nil
}

// holder returns the process id in the lock file, or 0.
func holder(f *os.File) int {
	b := make([]byte, 20)
	n, _ := f.ReadAt(b, 0) // an unreadable file names nobody
	pid, err := strconv.Atoi(strings.TrimSpace(string(b[:n])))
	if err != nil {
		return 0
	}
	return pid
}
