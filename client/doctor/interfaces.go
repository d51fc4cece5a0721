package doctor

import (
	"context"
	"net/url"
	"strings"
)

// checkInterfaces calls each interface of the card, where it really is.
func (e *exam) checkInterfaces(ctx context.Context) []Finding {
	var list []Finding
	seen := map[string]bool{}
	for _, o := range e.card.offers {
		key := o.String() + " " + o.reach
		switch {
		case seen[key]:
		case o.reach == "":
			list = append(list, found(Skipped, "%s is on another host: %s", o, excerpt(o.url)))
		default:
			list = append(list, e.checkInterface(ctx, o))
		}
		seen[key] = true
	}
	return list
}

func (e *exam) checkInterface(ctx context.Context, o *offer) Finding {
	kind, a, err := e.try(ctx, o.binding, o.version, o.reach, caller)
	at := " at " + excerpt(o.reach)
	name := o.String()
	if err != nil {
		return found(Fail, "%s%s breaks off: %s", name, at, excerpt(plainCause(err)))
	}
	switch kind {
	case replyAgent:
		return found(OK, "%s answers%s", name, at)
	case replyOther:
		return found(OK, "%s answers%s, with an error of its own", name, at)
	case replyUnknown:
		return found(Fail, "%s is declared%s, but the server does not speak it there", name, at)
	case replyAuth:
		return found(Skipped, "%s%s wants a token (HTTP %d)", name, at, a.status)
	case replyBusy:
		return found(Warn, "%s%s is busy (HTTP %d)", name, at, a.status)
	case replyLogin:
		return found(Skipped, "%s%s is behind a login; see auth", name, at)
	case replyMoved:
		f := found(Fail, "%s%s answers %s: a call is not sent again, or loses its content and token on the way", name, at, a.words())
		to := a.location()
		switch {
		case to.Scheme != a.url.Scheme:
			f.Hint = "let the card name " + to.Scheme + ", and give clients such a URL"
			f.Fixes = fixForwarded(to.Scheme, to.Host, e.prefix())
		case to.Path == a.url.Path:
			f.Hint = "let the card name " + shown(to) + ", and give clients such a URL"
		default:
			f.Hint = "let the proxy pass both forms on, with and without a slash at the end, or let the card name " + shown(to)
			f.Fixes = fixSlash(a.url.Path)
		}
		return f
	}
	f := found(Fail, "%s%s answers %s", name, at, a.words())
	f.Hint = "the proxy must pass this path and this method on to the server"
	if a.status >= 500 {
		f.Hint = "see the logs of the proxy and of the server: the proxy does not reach it, or it is broken"
	}
	return f
}

// checkDialects tries what the card does not declare at the endpoint of JSON-RPC.
func (e *exam) checkDialects(ctx context.Context) []Finding {
	var spoken []string
	for _, o := range e.card.offers {
		spoken = append(spoken, o.String())
	}
	text := "the card declares " + strings.Join(spoken, ", ")
	if e.main.binding != rpc {
		return good("%s", text)
	}
	var more []string
	for _, version := range []string{v1, v03, emm} {
		name := (&offer{binding: rpc, version: version}).String()
		if strings.Contains(text, name) {
			continue
		}
		kind, _, err := e.try(ctx, rpc, version, e.main.reach, caller)
		if err == nil && kind == replyAgent {
			more = append(more, name)
		}
	}
	if len(more) > 0 {
		text += "; the server also speaks " + strings.Join(more, ", ")
	}
	return good("%s", text)
}

// checkSlash calls the endpoint with a slash at the end if its URL has none, and the
// other way round: clients differ in that.
func (e *exam) checkSlash(ctx context.Context) []Finding {
	other := strings.TrimSuffix(e.main.reach, "/")
	if other == e.main.reach {
		other += "/"
	}
	if u, err := url.Parse(other); err != nil || u.Path == "" || u.Path == "/" {
		return good("the endpoint is at the root, so there is no other form of it")
	}
	if e.main.binding == rest {
		return skip("clients of HTTP+JSON add a path to the URL, whatever its end is")
	}
	kind, a, err := e.try(ctx, e.main.binding, e.main.version, other, caller)
	if err != nil {
		return bad("%s breaks off: %s", excerpt(other), excerpt(plainCause(err)))
	}
	switch kind {
	case replyMoved, replyLogin:
		to := a.location()
		if to == nil || !nearly(to, a.url) {
			return skip("%s is behind a login; see auth", excerpt(other))
		}
		text := "%s answers %s; clients that add or drop the slash lose their call"
		if to.Scheme == "http" && a.url.Scheme == "https" {
			return advise(bad(text+", and the redirect leads to plain http", excerpt(other), a.words()), "", fixSlash(a.url.Path)...)
		}
		return advise(poor(text, excerpt(other), a.words()), "", fixSlash(a.url.Path)...)
	case replyForeign:
		return good("only %s is an endpoint; the other form gets HTTP %d", excerpt(e.main.reach), a.status)
	}
	return good("the endpoint answers with and without a slash at the end")
}
