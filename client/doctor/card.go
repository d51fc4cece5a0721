package doctor

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/skillyard/skillyard/client"
)

// card is an agent card as far as checks look at it.
type card struct {
	at            *url.URL
	answer        *answer
	name, version string
	skills        int
	streams       bool
	// secured says that the card declares a security requirement or scheme.
	secured     bool
	tokenHeader string
	offers      []*offer // of JSON-RPC and HTTP+JSON
	grpc        []string // URLs or addresses
}

func (c *card) title() string { return excerpt(strings.TrimSpace(c.name + " " + c.version)) }

// Bindings as cards spell them, and versions.
const (
	rpc  = "JSONRPC"
	rest = "HTTP+JSON"
	grpc = "GRPC"
	v1   = "1.0"
	v03  = "0.3"
)

// offer is an interface of the card.
type offer struct {
	binding, version string
	url              string // as declared
	// reach is where it is really called: the declared URL, mended if it is wrong; "" if
	// it is on another host, which is not called.
	reach string
}

func (o *offer) String() string {
	if o.version == emm {
		return emm
	}
	name := map[string]string{rpc: "JSON-RPC", rest: "HTTP+JSON"}[o.binding]
	return name + " " + o.version
}

// readCard reads a card of any version.
func readCard(a *answer) (*card, error) {
	// A client's own parser says whether a client understands it.
	parsed, err := client.ParseCard(a.body, a.url)
	if err != nil {
		return nil, err
	}
	c := &card{
		at: a.url, answer: a, name: parsed.Name, version: parsed.Version, skills: len(parsed.Skills),
		streams: parsed.Streaming, secured: parsed.Secured,
	}
	if len(parsed.Interfaces) > 0 {
		c.tokenHeader = parsed.Interfaces[0].TokenHeader
	}
	for _, o := range parsed.Offers {
		c.offer(o.Binding, o.Version, o.URL)
	}
	return c, nil
}

// offer adds an interface. Patch versions and the older ones that are called alike count
// as one.
func (c *card) offer(binding, version, u string) {
	switch {
	case strings.HasPrefix(version, "1."):
		version = v1
	default:
		version = v03
	}
	switch {
	case binding == grpc && !slices.Contains(c.grpc, u):
		c.grpc = append(c.grpc, u)
	case binding != rpc && binding != rest:
	case slices.ContainsFunc(c.offers, func(o *offer) bool { return o.binding == binding && o.version == version && o.url == u }):
	default:
		c.offers = append(c.offers, &offer{binding: binding, version: version, url: u, reach: u})
	}
}

// cardPlaces are where clients look for a card, given the agent's URL: below it, and at
// the root of its host.
func (e *exam) cardPlaces() []string {
	if strings.HasSuffix(e.base.Path, ".json") {
		return []string{e.asked(e.base.String())}
	}
	var list []string
	for _, under := range []string{e.base.String(), e.base.Scheme + "://" + e.base.Host} {
		for _, name := range []string{"agent-card.json", "agent.json"} {
			if u := e.asked(under + "/.well-known/" + name); !slices.Contains(list, u) {
				list = append(list, u)
			}
		}
	}
	return list
}

// checkCard looks for the card as clients do: at the URL that was given, then at the
// root; without a token, then with it.
func (e *exam) checkCard(ctx context.Context) []Finding {
	var firstFault string
	for i, place := range e.cardPlaces() {
		a := e.first
		if i > 0 {
			var err error
			if a, err = e.get(ctx, place, nobody); err != nil {
				continue
			}
		}
		wanted := ""
		if a.status == http.StatusUnauthorized || a.status == http.StatusForbidden {
			wanted = fmt.Sprintf("the card is not public (HTTP %d without a token), and most clients fetch it without one", a.status)
			if e.o.Token == "" {
				e.locked, e.secured = true, true
				return advise(poor("%s", wanted), "give a token by --token to look further, or let everybody read the card")
			}
			with, err := e.get(ctx, place, caller)
			if err != nil {
				continue
			}
			if with.status == a.status {
				e.locked, e.secured = true, true
				e.refused++
				return bad("the card asks for a token and refuses this one (HTTP %d)", a.status)
			}
			a, e.secured = with, true
		}
		c, fault := e.cardOf(a)
		if c == nil {
			if firstFault == "" {
				firstFault = shown(a.url) + " answers " + fault
			}
			continue
		}
		e.card = c
		e.main = c.main()
		list := good("%s, skills: %d", cmp.Or(c.title(), "an agent without a name"), c.skills)
		if wanted != "" {
			list = poor("%s", wanted)
		}
		if t := a.contentType(); t != "application/json" && !strings.HasSuffix(t, "+json") {
			list = append(list, found(Warn, "the card's Content-Type is %q; some clients want application/json", excerpt(a.header.Get("Content-Type"))))
		}
		return list
	}
	list := bad("there is no agent card: %s", cmp.Or(firstFault, "nothing answers where it should be"))
	if to := e.first.location(); to != nil && nearly(to, e.first.url) && to.Scheme != e.first.url.Scheme {
		return advise(list, "clients do not all follow redirects; give them "+to.Scheme+"://"+e.base.Host+e.base.Path)
	}
	return advise(list, "the proxy must pass /.well-known/ to the server, without a login")
}

// cardOf reads the card of an answer, or says in a few words what it is instead.
func (e *exam) cardOf(a *answer) (*card, string) {
	if a.status != http.StatusOK {
		return nil, a.words()
	}
	c, err := readCard(a)
	if err != nil {
		return nil, a.words()
	}
	return c, ""
}

// main is the interface to try things on: JSON-RPC of the newest version if there is
// one.
func (c *card) main() *offer {
	var best *offer
	rank := func(o *offer) int {
		n := 0
		if o.binding == rpc {
			n += 2
		}
		if o.version == v1 {
			n++
		}
		return n
	}
	for _, o := range c.offers {
		if o.reach != "" && (best == nil || rank(o) > rank(best)) {
			best = o
		}
	}
	return best
}

// checkCaching asks for the card again by its ETag.
func (e *exam) checkCaching(ctx context.Context) []Finding {
	h := e.card.answer.header
	tag := h.Get("ETag")
	if tag == "" {
		return poor("the card has no ETag, so clients fetch it whole each time")
	}
	as := nobody
	if e.secured {
		as = caller
	}
	a, err := e.do(ctx, ask{method: http.MethodGet, url: e.card.at.String(), as: as, header: map[string]string{"If-None-Match": tag, "Accept": "application/json"}})
	switch {
	case err != nil:
		return bad("the second request for the card breaks off: %s", excerpt(plainCause(err)))
	case a.status == http.StatusNotModified:
		return good("304 for a card that is known, Cache-Control %s", cmp.Or(excerpt(h.Get("Cache-Control")), "not set"))
	case a.status == http.StatusOK && a.header.Get("ETag") != tag:
		return poor("the card's ETag changes from one request to the next; are several servers behind the proxy, with different cards?")
	}
	return poor("the card has an ETag, but asking with If-None-Match gets HTTP %d instead of 304", a.status)
}

// checkPlaces looks at the other places where clients look for a card.
func (e *exam) checkPlaces(ctx context.Context) []Finding {
	as := nobody
	if e.secured {
		as = caller
	}
	var there, gone []string
	var moved []Finding
	for _, place := range e.cardPlaces() {
		a, err := e.get(ctx, place, as)
		if err != nil {
			gone = append(gone, "")
			continue
		}
		c, fault := e.cardOf(a)
		switch {
		case c != nil:
			there = append(there, a.url.Path)
		case a.location() != nil:
			moved = append(moved, found(Warn, "%s answers %s; not all clients follow it", shown(a.url), fault))
		default:
			gone = append(gone, a.url.Path)
		}
	}
	list := moved
	if !slices.ContainsFunc(there, func(p string) bool { return strings.HasSuffix(p, "/agent-card.json") || p == e.base.Path }) {
		list = append(list, found(Warn, "the card is only at %s; clients since 0.3 look for /.well-known/agent-card.json", strings.Join(there, ", ")))
	}
	if len(list) > 0 {
		return list
	}
	text := "at " + strings.Join(there, ", ")
	if gone = slices.DeleteFunc(gone, func(p string) bool { return p == "" }); len(gone) > 0 {
		text += "; not at " + strings.Join(gone, ", ")
	}
	return good("%s", text)
}
