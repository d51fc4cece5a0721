// Skillyard is one A2A server in front of many skills. This is its command line;
// each command has a file of its own.
//
// Data goes to standard output, everything said to people to standard error. The
// exit code is 0 after success, 1 after an error, 2 after a wrong command line, 6 when a
// server did not answer in time and 7 when it wants another token; the commands of package
// remote have more, for the states of tasks.
package main

import (
	"os"
	_ "time/tzdata" // reports need time zones, and a container may have none
)

// version is set by the linker for releases.
var version string

func main() {
	os.Exit(run(os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}
