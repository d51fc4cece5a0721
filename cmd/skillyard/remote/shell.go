package remote

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Shell is where the commands run.
type Shell struct {
	In       io.Reader
	Out, Err io.Writer
	// Env are the environment variables by name.
	Env map[string]string
	// StateFileFunc returns the file of the pending registry; the argument is the flag,
	// "" for the default.
	StateFileFunc func(flag string) (string, error)
	// Version is that of the program, for its User-Agent.
	Version string
}

// Commands returns the commands of this package.
func Commands(sh Shell) []*cobra.Command {
	return []*cobra.Command{
		sendCommand(sh), replyCommand(sh), pollCommand(sh), watchCommand(sh), getCommand(sh), listCommand(sh),
		cancelCommand(sh), pendingCommand(sh), historyCommand(sh),
	}
}

// terminal returns the file descriptor of a terminal, or -1.
func terminal(stream any) int {
	f, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return -1
	}
	return int(f.Fd())
}

// size is that of the terminal: columns and lines.
func (sh *Shell) size() (width, height int) {
	w, h, err := term.GetSize(terminal(sh.Out))
	if err != nil || w <= 0 || h <= 0 {
		return 80, 24
	}
	return w, h
}

// say writes to the person at the terminal. There is nobody to tell if that fails.
func (sh *Shell) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if terminal(sh.Err) >= 0 {
		text = harmless(text)
	}
	_, _ = io.WriteString(sh.Err, text)
}

// errSignal ends a command that the person, or the system, wants to end.
type errSignal struct{ syscall.Signal }

func (e errSignal) Error() string { return e.Signal.String() }

// onSignal returns a context that SIGINT and SIGTERM cancel. A second signal has its
// usual effect.
func onSignal(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(errSignal{s.(syscall.Signal)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
		<-done
	}
}

// limited returns a context with a time limit; 0 is none.
func limited(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}
