package doctor

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// checkAuth calls the endpoint without a token, with a wrong one, and with the right one.
func (e *exam) checkAuth(ctx context.Context) []Finding {
	open, a, err := e.try(ctx, e.main.binding, e.main.version, e.main.reach, nobody)
	if err != nil {
		return skip("the endpoint does not answer; see interfaces")
	}
	switch open {
	case replyLogin:
		e.locked = true
		return advise(bad("without a token the endpoint answers %s", a.words()),
			"an agent cannot log in there; let the proxy pass calls with an Authorization header to the server, and answer others with 401 and WWW-Authenticate")
	case replyAuth:
		e.secured = true
		return e.checkSecured(ctx, a)
	case replyAgent, replyOther, replyUnknown:
		if e.card.secured {
			return append(poor("calls without a token are answered, though the card declares how to send one"), e.checkToken(ctx)...)
		}
		return append(good("calls need no token"), e.checkToken(ctx)...)
	}
	return skip("the endpoint answers %s; see interfaces", a.words())
}

// checkSecured looks at the refusal, and at what a wrong and the right token get.
func (e *exam) checkSecured(ctx context.Context, refusal *answer) []Finding {
	var list []Finding
	challenge := refusal.header.Get("WWW-Authenticate")
	switch {
	case refusal.status == http.StatusForbidden:
		list = poor("a call without a token gets 403; it should be 401 with WWW-Authenticate, since 403 means that no token would help")
	case challenge == "":
		list = poor("a call without a token gets 401 without WWW-Authenticate, so clients do not learn how to send one")
	case strings.HasPrefix(strings.ToLower(challenge), "basic"):
		list = good("a call without a token gets 401, for Basic: user and password of the proxy, it seems")
	default:
		scheme, _, _ := strings.Cut(challenge, " ")
		list = good("a call without a token gets 401 with WWW-Authenticate: %s", excerpt(scheme))
	}
	if !e.card.secured {
		list = append(list, found(Warn, "calls need a token, which the card does not say (securitySchemes)"))
	}
	kind, a, err := e.try(ctx, e.main.binding, e.main.version, e.main.reach, impostor)
	switch {
	case err != nil:
		list = append(list, found(Fail, "a call with a wrong token breaks off: %s", excerpt(plainCause(err))))
	case kind == replyAgent || kind == replyOther || kind == replyUnknown:
		list = append(list, found(Fail, "a wrong token is accepted"))
	case kind != replyAuth && kind != replyBusy:
		list = append(list, found(Fail, "a wrong token gets %s instead of 401", a.words()))
	}
	return append(list, e.checkToken(ctx)...)
}

// checkToken tries the caller's own token. It finds nothing where none is needed and
// none was given.
func (e *exam) checkToken(ctx context.Context) []Finding {
	if e.o.Token == "" {
		if !e.secured {
			return nil
		}
		e.locked = true
		return advise(skip("calls need a token, and none was given"), "give one by --token or A2A_TOKEN to look further")
	}
	kind, a, err := e.try(ctx, e.main.binding, e.main.version, e.main.reach, caller)
	switch {
	case err != nil:
		e.locked = true
		return bad("a call with the token breaks off: %s", excerpt(plainCause(err)))
	case kind == replyAgent || kind == replyOther || kind == replyUnknown:
		return good("the token is accepted")
	}
	e.locked = true
	hint := ""
	if kind == replyAuth {
		e.refused++
		hint = "see whether the token is right, and whether the proxy passes the header on"
		if e.card.tokenHeader != "" {
			hint += fmt.Sprintf(" (%s)", excerpt(e.card.tokenHeader))
		}
	}
	return advise(bad("a call with the token gets %s", a.words()), hint)
}
