package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/skillyard/skillyard/a2a"
)

// Options set up a Client. The zero value is usable.
type Options struct {
	// Token is the credential for the agent. It goes where the card says (Authorization,
	// or the header of an API key), and into both usual ones where it says nothing.
	Token string
	// Header holds further headers of each request. Like the token it goes to the origin
	// of the URL that was given to New, and to no other.
	Header http.Header
	// Interface is how to reach the agent; nil reads its card. It is what
	// Client.Interface returned, perhaps in another process.
	Interface *Interface
	// Dialect overrides the choice from the card; it is one of Dialects. An agent without
	// a card is then reached at the URL itself.
	Dialect string
	// AllowPrivate lets the card of a public agent name private addresses.
	AllowPrivate bool
	// Transport carries the requests; nil is one of our own, which honours the proxies of
	// the environment. With another one the addresses that cards name are not guarded.
	Transport http.RoundTripper
	Timeouts  Timeouts
	Retry     Retry
	Limits    Limits
	// Extensions are URIs to activate with every message.
	Extensions []string
	UserAgent  string // default "Skillyard"
	// OnNotice is told what happens on the way: that a call is tried again, that a stream
	// was lost and goes on. It may be nil, and is called from each goroutine that calls.
	OnNotice func(Notice)
}

// Timeouts bound the phases of a request; a negative one is no bound. The context bounds
// the whole. An answer to a message may take as long as the work, so nothing else bounds
// that.
type Timeouts struct {
	Connect time.Duration // address and TLS; default 10 s
	Card    time.Duration // one request for a card; default 20 s
	// Answer is for one request that needs no work from the agent; default 60 s.
	Answer time.Duration
	// Silence is how long a stream may be without a byte, comments included, before it
	// counts as lost; default 90 s.
	Silence time.Duration
}

// Retry bounds how often a call is tried again. The time between two tries doubles, with
// jitter, or is what the agent asks for by Retry-After.
type Retry struct {
	// Max is the largest number of further tries; default 4, negative for none.
	Max int
	// First and Most are the first and the longest time between two; default 250 ms and
	// 15 s, negative for none. A longer Retry-After is not waited for: the call fails and says so.
	First, Most time.Duration
}

// Limits bound what is read, in bytes.
type Limits struct {
	Card   int64 // default 1 MiB
	Answer int64 // default 32 MiB; of a stream it bounds the task that comes of it
	Event  int   // default 10 MiB
}

// Notice is news of a call under way.
type Notice struct {
	Op a2a.Op // "" for the card
	// Text says it to a person, on one line.
	Text string
	// Err is the error that was overcome, or nil.
	Err error
}

func (o Options) withDefaults() Options {
	duration := func(d *time.Duration, def time.Duration) {
		switch {
		case *d == 0:
			*d = def
		case *d < 0:
			*d = 0
		}
	}
	duration(&o.Timeouts.Connect, 10*time.Second)
	duration(&o.Timeouts.Card, 20*time.Second)
	duration(&o.Timeouts.Answer, time.Minute)
	duration(&o.Timeouts.Silence, 90*time.Second)
	duration(&o.Retry.First, 250*time.Millisecond)
	duration(&o.Retry.Most, 15*time.Second)
	if o.Retry.Max == 0 {
		o.Retry.Max = 4
	}
	if o.Limits.Card == 0 {
		o.Limits.Card = 1 << 20
	}
	if o.Limits.Answer == 0 {
		o.Limits.Answer = 32 << 20
	}
	if o.Limits.Event == 0 {
		o.Limits.Event = 10 << 20
	}
	if o.UserAgent == "" {
		o.UserAgent = "Skillyard"
	}
	return o
}

// Client is a client of one agent. It is safe for concurrent use.
type Client struct {
	o            Options
	named        *url.URL
	own, foreign http.RoundTripper
	secrets      []string // what no error shows

	mu    sync.Mutex
	iface *Interface // guarded by mu; nil until it is chosen
	// doubtful says that the interface did not answer as one. Guarded by mu.
	doubtful bool
	cards    cardCache // guarded by mu
}

// New returns a client for the agent at a URL: the base of its card, the card itself, or
// an endpoint with the card below it or further up. See NormalURL for what may be left
// out. It does no I/O.
func New(agentURL string, opts Options) (*Client, error) {
	u, err := parseURL(agentURL)
	if err != nil {
		return nil, err
	}
	if d := opts.Dialect; d != "" && !slices.Contains(Dialects(), d) {
		return nil, &Error{Kind: KindUsage, Message: "there is no dialect " + excerpt([]byte(d)), Hint: "dialects are " + strings.Join(Dialects(), ", ")}
	}
	if err := opts.headers(); err != nil {
		return nil, err
	}
	opts.Header, opts.Extensions = opts.Header.Clone(), slices.Clone(opts.Extensions)
	c := &Client{o: opts.withDefaults(), named: u, secrets: opts.secrets()}
	if i := opts.Interface; i != nil {
		if forms[i.Dialect] == nil {
			return nil, &Error{Kind: KindUsage, Message: "there is no dialect " + excerpt([]byte(i.Dialect))}
		}
		if i.TokenHeader != "" && !headerName(i.TokenHeader) {
			return nil, &Error{Kind: KindUsage, Message: "there is no header " + excerpt([]byte(i.TokenHeader))}
		}
		c.iface = &Interface{}
		*c.iface = *i
	}
	if c.own, c.foreign, err = newTransports(u, &c.o); err != nil {
		return nil, err
	}
	return c, nil
}

// URL returns the agent's URL in its one spelling, under which its tasks are filed.
func (c *Client) URL() string { return c.named.String() }

// Close closes the client's idle connections.
func (c *Client) Close() {
	for _, rt := range []http.RoundTripper{c.own, c.foreign} {
		if t, ok := rt.(*http.Transport); ok && c.o.Transport == nil {
			t.CloseIdleConnections()
		}
	}
}

// Send sends a message and returns the answer: as soon as the agent has taken it, or with
// SendOptions.Blocking when its work has ended or paused.
func (c *Client) Send(ctx context.Context, m Message, opts SendOptions) (*Answer, error) {
	s, err := newSending(m, opts)
	if err != nil {
		return nil, err
	}
	raw, f, err := c.operate(ctx, a2a.OpSend, s, false)
	return decoded(c, a2a.OpSend, raw, err, f.answer)
}

// newSending fills in the ids of a message.
func newSending(m Message, opts SendOptions) (*sending, error) {
	if len(m.Parts) == 0 {
		return nil, &Error{Kind: KindUsage, Op: a2a.OpSend, Message: "the message has no parts"}
	}
	if m.ID == "" {
		m.ID = uuid.NewString()
	}
	if opts.Key == "" {
		opts.Key = uuid.NewString()
	}
	if !headerValue(opts.Key) {
		return nil, &Error{Kind: KindUsage, Op: a2a.OpSend, Message: "the idempotency key cannot be sent in a header"}
	}
	return &sending{Message: m, SendOptions: opts}, nil
}

// Get returns a task. A historyLength of nil leaves the length to the agent.
func (c *Client) Get(ctx context.Context, id a2a.TaskID, historyLength *int) (*a2a.Task, error) {
	return c.get(ctx, id, historyLength, false)
}

func (c *Client) get(ctx context.Context, id a2a.TaskID, historyLength *int, once bool) (*a2a.Task, error) {
	raw, f, err := c.operate(ctx, a2a.OpGet, &getting{id, historyLength}, once)
	if err == nil && notFoundEMM(raw) {
		err = &Error{Kind: KindTaskNotFound, Op: a2a.OpGet, URL: c.place(), Sent: true, Message: "Task not found"}
	}
	return c.task(a2a.OpGet, id, raw, f, err)
}

// task reads a task that must be the one that was asked for.
func (c *Client) task(op a2a.Op, id a2a.TaskID, raw json.RawMessage, f *form, err error) (*a2a.Task, error) {
	t, err := decoded(c, op, raw, err, f.task)
	if err == nil && t.ID != id {
		return nil, foreign(op, c.place(), string(id), string(t.ID))
	}
	return t, err
}

func foreign(op a2a.Op, place, want, got string) error {
	return &Error{Kind: KindInvalid, Op: op, URL: place, Sent: true, Message: "the answer is of another task: asked for " + excerpt([]byte(want)) + ", got " + excerpt([]byte(got))}
}

// List returns a page of the caller's tasks. The dialects of 0.3 and EMM have no list.
func (c *Client) List(ctx context.Context, req a2a.ListRequest) (*a2a.ListResult, error) {
	raw, _, err := c.operate(ctx, a2a.OpList, &req, false)
	return decoded(c, a2a.OpList, raw, err, decodeList)
}

// Cancel asks the agent to end a task, and returns the task.
func (c *Client) Cancel(ctx context.Context, id a2a.TaskID) (*a2a.Task, error) {
	raw, f, err := c.operate(ctx, a2a.OpCancel, &getting{id: id}, false)
	return c.task(a2a.OpCancel, id, raw, f, err)
}

// SetPush registers a webhook for the task p.TaskID and returns it as the agent keeps it.
func (c *Client) SetPush(ctx context.Context, p a2a.PushConfig) (*a2a.PushConfig, error) {
	raw, _, err := c.operate(ctx, a2a.OpSetPush, &p, false)
	return decoded(c, a2a.OpSetPush, raw, err, decodePush)
}

// GetPush returns a webhook of a task.
func (c *Client) GetPush(ctx context.Context, task a2a.TaskID, id string) (*a2a.PushConfig, error) {
	raw, _, err := c.operate(ctx, a2a.OpGetPush, &a2a.PushRequest{TaskID: task, ID: id}, false)
	return decoded(c, a2a.OpGetPush, raw, err, decodePush)
}

// ListPush returns the webhooks of a task.
func (c *Client) ListPush(ctx context.Context, task a2a.TaskID) ([]a2a.PushConfig, error) {
	raw, _, err := c.operate(ctx, a2a.OpListPush, &a2a.PushRequest{TaskID: task}, false)
	return decoded(c, a2a.OpListPush, raw, err, decodePushList)
}

// DeletePush removes a webhook of a task.
func (c *Client) DeletePush(ctx context.Context, task a2a.TaskID, id string) error {
	_, _, err := c.operate(ctx, a2a.OpDeletePush, &a2a.PushRequest{TaskID: task, ID: id}, false)
	return err
}

// ExtendedCard returns the card that the agent shows to this caller.
func (c *Client) ExtendedCard(ctx context.Context) (*Card, error) {
	raw, _, err := c.operate(ctx, a2a.OpExtendedCard, nil, false)
	return decoded(c, a2a.OpExtendedCard, raw, err, func(b []byte) (*Card, error) { return ParseCard(b, c.named) })
}
