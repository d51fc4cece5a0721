package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// smallBody is just above what nginx takes unless it is told otherwise. The other body
// that is tried is what an agent with files should take.
const smallBody = 1<<20 + 1<<10

// spaces are what a body is padded with: JSON may have them anywhere.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// checkBody sends a harmless call in bodies of more and more spaces, which has to get
// the answer that it gets in a small one.
func (e *exam) checkBody(ctx context.Context) []Finding {
	usual, small, err := e.try(ctx, e.main.binding, e.main.version, e.main.reach, caller)
	switch {
	case err != nil:
		return skip("the endpoint does not answer; see interfaces")
	case usual == replyMoved || usual == replyLogin || usual == replyForeign || usual == replyBusy:
		return skip("the endpoint answers %s; see interfaces and auth", small.words())
	}
	var through int64
	for _, size := range []int64{smallBody, e.o.pace.large} {
		severity := Fail
		if size > smallBody {
			severity = Warn
		}
		a, err := e.do(ctx, e.padded(size))
		var f Finding
		switch {
		case err != nil && ctx.Err() == nil && isTimeout(err):
			return append(e.passed(through), found(Skipped, "a body of %s did not get through in time; the line may be slow", mega(size)))
		case err != nil:
			// Some close the connection on a body that they will not take.
			f = found(severity, "the connection breaks off on a body of %s: %s", mega(size), excerpt(plainCause(err)))
		case a.status == http.StatusRequestEntityTooLarge && !serverRefusal(a):
			f = found(severity, "the proxy refuses a body of %s with %s, which no client of the protocol understands", mega(size), a.words())
		case a.status == http.StatusRequestEntityTooLarge && size == smallBody:
			return poor("the server itself takes no body of %s: %s", mega(size), excerpt(limitOf(a)))
		case a.status == http.StatusRequestEntityTooLarge:
			return good("up to %s and more pass; the server itself refuses %s, in JSON: %s", mega(through), mega(size), excerpt(limitOf(a)))
		case a.kind(e.main.binding) == replyBusy:
			return append(e.passed(through), found(Skipped, "the server is busy (HTTP %d)", a.status))
		case a.kind(e.main.binding) != usual:
			f = found(severity, "a call that is answered in a small body gets %s in one of %s", a.words(), mega(size))
			f.Hint = "see the proxy's log: it may limit bodies, or have no place to put them"
		default:
			through = size
			continue
		}
		f.Fixes = fixBody()
		return append(e.passed(through), f)
	}
	return e.passed(through)
}

func (e *exam) passed(size int64) []Finding {
	if size == 0 {
		return nil
	}
	return good("a body of %s passes", mega(size))
}

func mega(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }

// padded is a call that changes nothing, in a body of a size.
func (e *exam) padded(size int64) ask {
	a := call(rpc, e.main.version, e.main.reach)
	if e.main.binding == rest {
		// To cancel a task that does not exist is what HTTP+JSON has with a body.
		a = call(rest, e.main.version, e.main.reach)
		a.method, a.url, a.body, a.size = http.MethodPost, a.url+":cancel", bytes.NewReader([]byte("{}")), 2
		a.header["Content-Type"] = "application/json"
	}
	a.body = io.MultiReader(a.body, io.LimitReader(spaces{}, size-a.size))
	a.size, a.as, a.time = size, caller, 2*stepTime
	return a
}

// serverRefusal reports whether a 413 is the agent's own: JSON, as its other errors are.
func serverRefusal(a *answer) bool { return json.Valid(bytes.TrimSpace(a.body)) && len(a.body) > 2 }

// limitOf is what a refusal says of the limit: the message of the error if it has one.
func limitOf(a *answer) string {
	var m struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(a.body, &m) == nil && m.Error.Message != "" {
		return m.Error.Message
	}
	return string(a.body)
}
