package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"
)

// reply is what an answer to a harmless call turns out to be.
type reply int

const (
	// replyAgent is the protocol's own answer: that there is no such task.
	replyAgent reply = iota
	// replyOther is another error of the protocol.
	replyOther
	replyUnknown // the endpoint does not know the method or the version
	replyAuth    // 401 or 403
	replyBusy    // 429 or 503
	replyMoved   // a redirect
	replyLogin   // to a login page, or the page itself
	replyForeign // not of the protocol: a page, 404, 405, 502 …
)

// call reads a task that does not exist, which changes nothing, in the way of an
// interface at a URL.
func call(binding, version, at string) ask {
	id := uuid.NewString()
	if binding == rest {
		path := strings.TrimRight(at, "/") + "/tasks/" + id
		if version == v03 {
			path = strings.TrimRight(at, "/") + "/v1/tasks/" + id
		}
		return ask{method: http.MethodGet, url: path, header: map[string]string{"Accept": "application/json", "A2A-Version": version}}
	}
	method, params := "GetTask", `{"id":"`+id+`"}`
	header := map[string]string{"Content-Type": "application/json", "Accept": "application/json"}
	switch version {
	case v1:
		header["A2A-Version"] = v1
	case v03:
		method = "tasks/get"
	case emm:
		method, params = "tasks/status", `{"taskId":"`+id+`"}`
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	return ask{method: http.MethodPost, url: at, body: strings.NewReader(body), size: int64(len(body)), header: header}
}

// emm is the version of JSON-RPC that the EMM gateway speaks.
const emm = "EMM"

// Codes of JSON-RPC and A2A (1.0 §9.5) that tell answers apart.
const (
	codeNoMethod  = -32601
	codeNoTask    = -32001
	codeNoVersion = -32009
)

// try calls an interface harmlessly and says what the answer is. An error is one of the
// connection.
func (e *exam) try(ctx context.Context, binding, version, at string, as who) (reply, *answer, error) {
	a := call(binding, version, at)
	a.as = as
	got, err := e.do(ctx, a)
	if err != nil {
		return replyForeign, nil, err
	}
	return got.kind(binding), got, nil
}

func (a *answer) kind(binding string) reply {
	switch {
	case a.login():
		return replyLogin
	case a.location() != nil:
		return replyMoved
	case a.status == http.StatusUnauthorized || a.status == http.StatusForbidden:
		return replyAuth
	}
	var m struct {
		JSONRPC string          `json:"jsonrpc"`
		Result  json.RawMessage `json:"result"`
		Error   *struct {
			Code int `json:"code"`
		} `json:"error"`
	}
	if json.Unmarshal(a.body, &m) != nil {
		m.JSONRPC = ""
	}
	switch {
	case binding == rest && a.status == http.StatusNotFound && json.Valid(a.body) && strings.Contains(strings.ToLower(string(a.body)), "task"):
		// The body of such an error has many shapes, and names what is not found.
		return replyAgent
	case binding == rest && a.status == http.StatusBadRequest && json.Valid(a.body):
		return replyOther
	case binding == rpc && m.JSONRPC == "2.0" && (m.Result != nil || m.Error != nil && m.Error.Code == codeNoTask):
		return replyAgent
	case binding == rpc && m.JSONRPC == "2.0" && m.Error != nil && (m.Error.Code == codeNoMethod || m.Error.Code == codeNoVersion):
		return replyUnknown
	case a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable:
		return replyBusy
	case binding == rpc && m.JSONRPC == "2.0" && m.Error != nil && a.status < 500:
		return replyOther
	}
	return replyForeign
}

// words describe an answer in a sentence: "HTTP 404 with a page of HTML".
func (a *answer) words() string {
	if to := a.location(); to != nil {
		if !nearly(to, a.url) {
			return fmt.Sprintf("a redirect (%d) to %s, which looks like a login", a.status, shown(to))
		}
		return fmt.Sprintf("a redirect (%d) to %s", a.status, shown(to))
	}
	text := fmt.Sprintf("HTTP %d", a.status)
	switch {
	case a.login():
		text += " with a login page"
	case a.html():
		text += " with a page of HTML"
	case len(a.body) == 0:
		text += " without content"
	default:
		text += ": " + excerpt(string(a.body))
	}
	return text
}
