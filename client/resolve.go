package client

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"
)

// The two names of a card: that of 0.3 and 1.0, and that of older versions.
const (
	cardPath    = "/.well-known/agent-card.json"
	oldCardPath = "/.well-known/agent.json"
)

// maxLevels is how many levels above an endpoint a card is looked for.
const maxLevels = 4

// cardCache is the card that was read last.
type cardCache struct {
	card  *Card
	url   *url.URL
	etag  string
	fresh time.Time // until then it is not asked for
}

// Interface returns the interface that the client uses.
func (c *Client) Interface(ctx context.Context) (Interface, error) {
	i, _, err := c.using(ctx)
	return i, err
}

// using returns the interface and its form; the card is read if it is not yet known.
func (c *Client) using(ctx context.Context) (Interface, *form, error) {
	c.mu.Lock()
	known, doubtful := c.iface, c.doubtful
	c.mu.Unlock()
	if known == nil || doubtful {
		i, err := c.choose(ctx)
		if err != nil && known == nil {
			return Interface{}, nil, err
		}
		if err == nil {
			known = &i
		}
		c.mu.Lock()
		c.iface, c.doubtful = known, false
		c.mu.Unlock()
	}
	return *known, forms[known.Dialect], nil
}

// doubt makes the next call look at the card again, if its interface came from there and
// what answered is no agent, or not any more. The cache of the card bounds how often.
func (c *Client) doubt(e *Error) {
	if c.o.Interface != nil || e.Kind != KindInvalid && e.Kind != KindForbidden && (e.Kind != KindUnsupported || e.Status < 400) {
		return
	}
	c.mu.Lock()
	c.doubtful = true
	c.mu.Unlock()
}

// choose takes the best interface of the card, or the one of the dialect that is asked
// for. With a dialect an agent need have no card.
func (c *Client) choose(ctx context.Context) (Interface, error) {
	card, err := c.Card(ctx)
	if d := c.o.Dialect; d != "" {
		if err == nil {
			for _, i := range card.Interfaces {
				if i.Dialect == d {
					return i, nil
				}
			}
		} else if k := KindOf(err); k != KindNoCard && k != KindInvalid {
			return Interface{}, err
		}
		// Without a card nothing is known of its streams: they are tried.
		return Interface{URL: c.named.String(), Dialect: d, Streaming: true, Guessed: true}, nil
	}
	switch {
	case err != nil:
		return Interface{}, err
	case len(card.Interfaces) == 0:
		e := &Error{Kind: KindUnsupported, URL: card.URL, Message: "the agent has no interface that this client speaks"}
		if len(card.Others) > 0 {
			e.Message += "; it has " + strings.Join(card.Others, ", ")
		}
		return Interface{}, e
	}
	return card.Interfaces[0], nil
}

// place is where calls go, for messages.
func (c *Client) place() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.iface == nil {
		return shown(c.named)
	}
	if u, err := url.Parse(c.iface.URL); err == nil {
		return shown(u)
	}
	return ""
}

// tokenHeader is the header that takes the token, as far as that is known.
func (c *Client) tokenHeader() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.iface == nil {
		return ""
	}
	return c.iface.TokenHeader
}

// Card returns the agent's card. It is kept for its max-age, at least a minute, and then
// asked for with its ETag.
func (c *Client) Card(ctx context.Context) (*Card, error) {
	c.mu.Lock()
	cached := c.cards
	c.mu.Unlock()
	if cached.card != nil {
		if time.Now().Before(cached.fresh) {
			return cached.card, nil
		}
		got, err := c.fetchCard(ctx, cached.url, &cached)
		if err == nil {
			return c.keep(got), nil
		}
		if KindOf(err) != KindNoCard {
			return nil, err
		}
		// It was found by a redirect, perhaps, that leads elsewhere now.
	}
	var first error
	for _, u := range c.cardURLs() {
		got, err := c.fetchCard(ctx, u, nil)
		if err == nil {
			return c.keep(got), nil
		}
		if KindOf(err) != KindNoCard {
			return nil, err
		}
		if first == nil {
			first = err
		}
	}
	if got := c.cardItself(ctx); got != nil {
		return c.keep(got), nil
	}
	e := *first.(*Error)
	e.Hint = "is this the agent's base URL? The card was looked for at " + cardPath + " and " + oldCardPath +
		" there and further up; an agent without one needs its dialect named: " + strings.Join(Dialects(), ", ")
	return nil, &e
}

func (c *Client) keep(got *cardCache) *Card {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cards = *got
	return got.card
}

// namesFile reports whether the URL is a card's by its looks.
func (c *Client) namesFile() bool {
	return strings.HasSuffix(c.named.Path, ".json") || strings.Contains(c.named.Path, "/.well-known/")
}

// cardItself reads the card at the very URL, for agents that have it at a place of their
// own; nil if it is not there. It is the last to be tried, and not where a dialect says
// that the URL is an endpoint, because endpoints answer all sorts of things.
func (c *Client) cardItself(ctx context.Context) *cardCache {
	if c.namesFile() || c.named.Path == "" || c.o.Dialect != "" {
		return nil
	}
	got, err := c.fetchCardOnce(ctx, c.named, nil)
	if err != nil || len(got.card.Interfaces) == 0 && len(got.card.Others) == 0 {
		return nil // that there is no card in the usual places is the error to tell
	}
	return got
}

// cardURLs are the places where the card may be: the URL itself if it names a file, else
// below the URL and each level above it, under both names.
func (c *Client) cardURLs() []*url.URL {
	at := func(p string) *url.URL {
		return &url.URL{Scheme: c.named.Scheme, Host: c.named.Host, Path: p, RawQuery: c.named.RawQuery}
	}
	if c.namesFile() {
		return []*url.URL{at(c.named.Path)}
	}
	var list []*url.URL
	dir := strings.TrimRight(c.named.Path, "/")
	for range maxLevels {
		list = append(list, at(dir+cardPath), at(dir+oldCardPath))
		if dir == "" {
			break
		}
		dir = strings.TrimRight(path.Dir(dir), "/")
	}
	return list
}

// fetchCard reads the card at a URL, as often as Retry says.
func (c *Client) fetchCard(ctx context.Context, at *url.URL, cached *cardCache) (*cardCache, error) {
	for try := 0; ; try++ {
		got, err := c.fetchCardOnce(ctx, at, cached)
		if err == nil || !c.retry(ctx, &call{safe: true}, &Interface{}, err, try) {
			return got, err
		}
	}
}

// fetchCardOnce reads the card at a URL. Redirects are followed, but not far, not to a
// lower scheme, and without credentials to another origin.
func (c *Client) fetchCardOnce(ctx context.Context, at *url.URL, cached *cardCache) (*cardCache, error) {
	const maxHops = 3
	u := at
	for hop := 0; ; hop++ {
		x := &exchange{method: http.MethodGet, url: u, limit: c.o.Timeouts.Card, header: http.Header{
			// Without a version an agent of several shows what all clients read.
			"User-Agent": {c.o.UserAgent}, "Accept": {"application/json"},
		}}
		if cached != nil && cached.etag != "" {
			x.header.Set("If-None-Match", cached.etag)
		}
		resp, err := c.do(ctx, x)
		if err != nil {
			return nil, err
		}
		if to := redirect(u, resp); to != nil {
			_ = resp.Body.Close()
			if hop >= maxHops || to.Scheme != u.Scheme && to.Scheme != "https" || to.Scheme != "http" && to.Scheme != "https" {
				return nil, &Error{Kind: KindForbidden, URL: shown(u), Status: resp.StatusCode, Message: "the card is said to be at " + shown(to) + ", where this client does not go"}
			}
			u = to
			continue
		}
		got, err := c.readCard(x, resp, cached)
		_ = resp.Body.Close()
		return got, c.told(x, err)
	}
}

func (c *Client) readCard(x *exchange, resp *http.Response, cached *cardCache) (*cardCache, error) {
	if resp.StatusCode == http.StatusNotModified && cached != nil {
		again := *cached
		again.fresh = time.Now().Add(maxAge(resp.Header))
		return &again, nil
	}
	body, err := readAll(x, resp, c.o.Limits.Card)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		err := strange(x, resp, body).(*Error)
		switch err.Kind {
		case KindAuth:
			err.Hint = "the card is not public: a token is needed"
		case KindBusy, KindBroken:
		default:
			err.Kind, err.Message, err.Body, err.Hint = KindNoCard, "there is no agent card", "", ""
		}
		return nil, err
	}
	card, err := ParseCard(body, x.url)
	if err != nil {
		return nil, err
	}
	return &cardCache{card: card, url: x.url, etag: resp.Header.Get("ETag"), fresh: time.Now().Add(maxAge(resp.Header))}, nil
}

// maxAge is how long an answer may be kept, between a minute and a day.
func maxAge(h http.Header) time.Duration {
	const least, most = time.Minute, 24 * time.Hour
	for _, directive := range strings.Split(h.Get("Cache-Control"), ",") {
		if v, ok := strings.CutPrefix(strings.TrimSpace(directive), "max-age="); ok {
			if n, err := strconv.ParseUint(v, 10, 31); err == nil {
				return min(max(time.Duration(n)*time.Second, least), most)
			}
		}
	}
	return least
}
