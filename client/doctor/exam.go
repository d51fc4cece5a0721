package doctor

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/skillyard/skillyard/client"
)

// exam is an examination under way: its options, and what its checks have found out.
// Checks run one after another.
type exam struct {
	o    Options
	base *url.URL // as it was given; no slash at the end, no query
	// query is that of the URL, with which the card is asked for.
	query string
	web   *http.Client

	first    *answer // the first answer of all
	firstErr error
	answered bool
	proxy    string // what the answers name
	late     bool   // the time was over

	card *card
	main *offer // the endpoint to try things on
	// secured says that calls without a token are refused, locked that those of this
	// examination are.
	secured, locked bool
	// refused is how many findings failed because the token is not accepted.
	refused int
	under   *string // the prefix of the server's paths, once it is known

	flow *flow         // a stream that was seen
	beat time.Duration // the server's heartbeat, if its probe says it
}

func newExam(o Options) (*exam, error) {
	normal, err := client.NormalURL(o.URL)
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(normal)
	if err != nil {
		return nil, err
	}
	o.Timeout = cmp.Or(o.Timeout, 90*time.Second)
	o.UserAgent = cmp.Or(o.UserAgent, "skillyard-doctor")
	o.Text = cmp.Or(o.Text, "This is a test of the connection. Please answer in a few words.")
	o.pace = cmp.Or(o.pace, usualPace())
	e := &exam{o: o, base: base, query: base.RawQuery, web: newWeb(o)}
	base.RawQuery = ""
	return e, nil
}

// root is the URL that paths of the server are below: where its card was found.
func (e *exam) root() string {
	at := e.card.at.String()
	if i := strings.Index(at, "/.well-known/"); i >= 0 {
		return at[:i]
	}
	return e.base.Scheme + "://" + e.base.Host
}

// cardURL is where the card of an agent at a URL is expected first.
func (e *exam) cardURL() string {
	if strings.HasSuffix(e.base.Path, ".json") {
		return e.asked(e.base.String())
	}
	return e.asked(e.base.String() + "/.well-known/agent-card.json")
}

// asked is a place of a card as it is asked for.
func (e *exam) asked(place string) string {
	if e.query == "" {
		return place
	}
	return place + "?" + e.query
}

// checkConnection asks for the card, which is the first thing that clients do.
func (e *exam) checkConnection(ctx context.Context) []Finding {
	a, err := e.get(ctx, e.cardURL(), nobody)
	if err != nil {
		e.firstErr = err
		if isTimeout(err) {
			e.late = true
			return bad("%s does not answer in time", e.base.Host)
		}
		if certificateFault(err) {
			return skip("the certificate is not good")
		}
		return bad("%s cannot be reached: %s", e.base.Host, excerpt(plainCause(err)))
	}
	e.first, e.answered = a, true
	behind := ""
	if e.proxy != "" {
		behind = ", behind " + e.proxy
	}
	return good("%s, first answer after %d ms%s", a.proto, a.took.Milliseconds(), behind)
}

// plainCause is an error of net/http without the method and the URL before it.
func plainCause(err error) string {
	if u, ok := err.(*url.Error); ok { //nolint:errorlint // what Do returns is one
		err = u.Err
	}
	return err.Error()
}

// Bounds of what clocks may differ by: tokens and webhook signatures are refused beyond.
const (
	clockWarn = 30 * time.Second
	clockFail = 5 * time.Minute
)

// checkClock compares the clock of the server, or of the proxy that writes the header,
// with the one here.
func (e *exam) checkClock(context.Context) []Finding {
	said, err := http.ParseTime(e.first.header.Get("Date"))
	if err != nil {
		return skip("the answer has no Date")
	}
	if e.first.header.Get("Age") != "" {
		return skip("the answer comes from a cache")
	}
	// The header has whole seconds.
	off := said.Add(500 * time.Millisecond).Sub(e.first.got)
	if off > -time.Second && off < time.Second {
		off = 0
	}
	text := "its clock and this one differ by " + off.Abs().Round(time.Second).String()
	hint := "let both keep their time by NTP: tokens and signatures of webhooks carry times"
	switch abs := off.Abs(); {
	case abs >= clockFail:
		return advise(bad("%s", text), hint)
	case abs >= clockWarn:
		return advise(poor("%s", text), hint)
	}
	return good("%s", text)
}
