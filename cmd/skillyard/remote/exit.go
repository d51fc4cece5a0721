package remote

import (
	"context"
	"errors"
	"strings"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
	"github.com/skillyard/skillyard/client/pending"
)

// The exit codes. A task that is at work is none of its ends, so that a script does not
// take its silence for the result.
const (
	exitError    = 1
	exitUsage    = 2
	exitFailed   = 3 // failed or rejected
	exitInput    = 4
	exitCanceled = 5
	exitTimeout  = 6
	exitAuth     = 7
	exitAtWork   = 8
	exitSignal   = 128 // and the signal's number
)

// Exit is the end of a command that is not plain success.
type Exit struct {
	// Code is the exit code.
	Code int
	// Err is what went wrong; nil if everything is said already.
	Err error
	// Hint says what to do; it may be "".
	Hint string
}

// Error says what went wrong and, on lines of its own, what to do.
func (e *Exit) Error() string {
	text := ""
	if e.Err != nil {
		text = e.Err.Error()
	}
	for line := range strings.Lines(e.Hint) {
		text += "\n  " + strings.TrimSuffix(line, "\n")
	}
	return text
}

func (e *Exit) Unwrap() error { return e.Err }

// ExitCode is the exit code.
func (e *Exit) ExitCode() int { return e.Code }

// Silent reports that there is nothing left to say.
func (e *Exit) Silent() bool { return e.Err == nil }

func usage(message, hint string) error {
	return &Exit{Code: exitUsage, Err: errors.New(message), Hint: hint}
}

func failure(message, hint string) error {
	return &Exit{Code: exitError, Err: errors.New(message), Hint: hint}
}

// ended is how a command ends that has shown a task in some state.
func ended(s a2a.State) error {
	code := exitAtWork
	switch s {
	case a2a.StateCompleted:
		return nil
	case a2a.StateFailed, a2a.StateRejected:
		code = exitFailed
	case a2a.StateInputRequired:
		code = exitInput
	case a2a.StateAuthRequired:
		code = exitAuth
	case a2a.StateCanceled:
		code = exitCanceled
	}
	return &Exit{Code: code}
}

// explained gives an error its exit code and its hint. further is what to do in any
// case; it may be "".
func explained(err error, further string) error {
	var x *Exit
	if err == nil || errors.As(err, &x) {
		return err
	}
	x = &Exit{Code: exitError, Err: err}
	var (
		e         *client.Error
		ambiguous *pending.AmbiguousError
	)
	switch {
	case errors.As(err, &e):
		x.Hint = e.Hint
		x.Code = codeOf(e)
		if x.Hint == "" && e.Kind == client.KindAuth {
			x.Hint = "give the agent's token by --token-file, A2A_TOKEN or the agents file, and see that it is the right one; A2A_TOKEN is for A2A_SERVER alone, if that is set"
		}
	case errors.As(err, &ambiguous):
		x.Code, x.Hint = exitUsage, "give one of them, or name the agent by --agent"
	case errors.Is(err, context.DeadlineExceeded):
		x.Code, x.Err = exitTimeout, errors.New("the time given by --timeout is over")
	case isSignal(err):
		x.Code = signalCode(err)
	}
	if further != "" {
		x.Hint = strings.TrimPrefix(x.Hint+"\n"+further, "\n")
	}
	return x
}

func codeOf(e *client.Error) int {
	switch {
	case e.Kind == client.KindUsage:
		return exitUsage
	case e.Kind == client.KindAuth:
		return exitAuth
	case e.Kind == client.KindTimeout:
		return exitTimeout
	case isSignal(e):
		return signalCode(e)
	}
	return exitError
}

func isSignal(err error) bool {
	var s errSignal
	return errors.As(err, &s)
}

func signalCode(err error) int {
	var s errSignal
	errors.As(err, &s)
	return exitSignal + int(s.Signal)
}
