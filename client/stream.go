package client

import (
	"bufio"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/tmaxmax/go-sse"

	"github.com/skillyard/skillyard/a2a"
)

// errLost marks a stream that ended before its task did.
var errLost = errors.New("the stream ended before its task")

// connection reads one stream, from the request to its end. It yields what comes in and
// returns nil if the stream was closed, orderly as far as one can tell.
func (c *Client) connection(ctx context.Context, op a2a.Op, arg any, after string, yield func(Event) error) error {
	i, f, err := c.using(ctx)
	if err != nil {
		return err
	}
	k, err := f.call(op, arg, &i)
	if err != nil {
		return err
	}
	k.after, k.stream, k.once = after, true, true
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := newSilence(c.o.Timeouts.Silence, func() { cancel(errSilent) })
	defer silence.stop()
	// Only the agent's silence counts, not the time that the caller takes.
	hand := func(ev Event) error {
		silence.stop()
		defer silence.start()
		return yield(ev)
	}
	quiet := func(x *exchange, err error) error {
		if context.Cause(ctx) == errSilent {
			return &Error{Kind: KindBroken, Op: op, URL: shown(x.url), Sent: true, Message: "nothing came for " + c.o.Timeouts.Silence.String()}
		}
		return err
	}
	var at *exchange
	err = c.tries(ctx, k, &i, func(x *exchange, resp *http.Response) error {
		at, resp.Body = x, silence.watch(resp.Body)
		if t := mediaType(resp); resp.StatusCode != http.StatusOK || t != "text/event-stream" {
			return quiet(x, c.instead(f, k, x, resp, hand))
		}
		return quiet(x, c.events(f, k, x, resp.Body, hand))
	})
	if at == nil && err != nil && context.Cause(ctx) == errSilent {
		return &Error{Kind: KindBroken, Op: op, URL: c.place(), Sent: true, Message: "nothing came for " + c.o.Timeouts.Silence.String()}
	}
	return err
}

// instead reads an answer that is no stream: the error of the call, or its result in one
// piece, as agents give it that do not stream.
func (c *Client) instead(f *form, k *call, x *exchange, resp *http.Response, yield func(Event) error) error {
	body, err := readAll(x, resp, c.o.Limits.Answer)
	if err != nil {
		return err
	}
	raw, err := f.result(k, x, resp, body)
	if err != nil {
		return err
	}
	ev, err := f.event(raw)
	if err != nil {
		return invalid(x, resp, "the answer is neither a stream nor a task: "+err.Error(), body)
	}
	return yield(ev)
}

// events reads the events of a stream.
func (c *Client) events(f *form, k *call, x *exchange, body io.Reader, yield func(Event) error) error {
	frames := 0
	for e, err := range sse.Read(body, &sse.ReadConfig{MaxEventSize: c.o.Limits.Event}) {
		if err != nil {
			return c.broken(x, err)
		}
		if e.Data == "" {
			continue // a ping
		}
		if e.Data == "[DONE]" {
			break // as the streams of model servers end
		}
		ev, err := c.frame(f, k, x, e.Type, []byte(e.Data))
		if KindOf(err) == KindInvalid && !f.events && e.Type != "" && e.Type != "message" && e.Type != "error" {
			continue // a heartbeat, perhaps; only those of EMM have names
		}
		if err != nil {
			return err
		}
		frames++
		// One that cannot be sent back would fail every resumption.
		if headerValue(e.LastEventID) && len(e.LastEventID) <= maxHeaderValue {
			ev.ID = e.LastEventID
		}
		if err := yield(ev); err != nil {
			return err
		}
	}
	if frames == 0 {
		return &Error{Kind: KindBroken, Op: k.op, URL: shown(x.url), Status: http.StatusOK, Sent: true, Message: "the stream ended without an event"}
	}
	return nil
}

func (c *Client) broken(x *exchange, err error) error {
	if KindOf(err) != "" {
		return err // of the body
	}
	e := &Error{Kind: KindBroken, Op: x.op, URL: shown(x.url), Status: http.StatusOK, Sent: true, Message: "the stream broke", Err: err}
	if errors.Is(err, bufio.ErrTooLong) {
		e.Kind, e.Message, e.Err = KindTooLarge, "an event is larger than "+strconv.Itoa(c.o.Limits.Event)+" bytes", nil
	}
	return e
}

// frame reads one event. JSON-RPC wraps it, and its errors come as events too.
func (c *Client) frame(f *form, k *call, x *exchange, name string, data []byte) (Event, error) {
	ok := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}}
	raw := data
	switch {
	case f.methods != nil && !f.events:
		result, err := f.envelope(k, x, ok, data)
		if err != nil {
			return Event{}, err
		}
		raw = result
	case f.events && notFoundEMM(raw):
		return Event{}, &Error{Kind: KindTaskNotFound, Op: k.op, URL: shown(x.url), Status: http.StatusOK, Sent: true, Message: "Task not found"}
	case name == "error":
		return Event{}, strange(x, ok, data)
	default:
		if err := protocolError(x, ok, data); err != nil {
			return Event{}, err
		}
	}
	ev, err := f.event(raw)
	if err != nil {
		return Event{}, invalid(x, ok, "an event is none of the protocol's: "+err.Error(), data)
	}
	return ev, nil
}

// errSilent is the cause of a stream that was given up because nothing came.
var errSilent = errors.New("silence")

// silence ends a stream in which nothing comes for too long.
type silence struct {
	most  time.Duration
	mu    sync.Mutex
	timer *time.Timer // guarded by mu; nil without a limit
}

func newSilence(most time.Duration, end func()) *silence {
	s := &silence{most: most}
	if most > 0 {
		s.timer = time.AfterFunc(most, end)
	}
	return s
}

func (s *silence) heard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil && s.timer.Stop() {
		s.timer.Reset(s.most)
	}
}

func (s *silence) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Reset(s.most)
	}
}

func (s *silence) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
}

// watch returns a body that tells s of each byte.
func (s *silence) watch(r io.ReadCloser) io.ReadCloser { return &heardBody{r, s} }

type heardBody struct {
	io.ReadCloser
	s *silence
}

func (h *heardBody) Read(b []byte) (int, error) {
	n, err := h.ReadCloser.Read(b)
	if n > 0 {
		h.s.heard()
	}
	return n, err
}

// Stream sends a message and yields what happens, to the end of the task or its next
// question. A stream that is lost goes on by itself, and an agent that does not stream is
// polled; OnNotice is told. After an error there is nothing more.
func (c *Client) Stream(ctx context.Context, m Message, opts SendOptions) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s, err := newSending(m, opts)
		if err != nil {
			yield(Event{}, err)
			return
		}
		l := &follower{c: c, yield: yield}
		if err := l.start(ctx, s); err != nil && !l.stopped {
			yield(Event{}, err)
		}
	}
}

// Subscribe yields what happens to a task, from its present state on, or behind an event.
// It ends when the task has ended or asks for something.
func (c *Client) Subscribe(ctx context.Context, id a2a.TaskID, opts SubscribeOptions) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		l := &follower{c: c, yield: yield, task: id, last: opts.After}
		if err := l.follow(ctx); err != nil && !l.stopped {
			yield(Event{}, err)
		}
	}
}
