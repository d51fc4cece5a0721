package doctor

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
)

var errNoSettings = errors.New("no settings frame")

// silenceMost is the longest silence that is tried: the probe lasts no longer.
const silenceMost = time.Minute

// pace is how much an examination takes: how long the probe of streams lasts, from when
// on its events are late, and the largest body that is sent.
type pace struct {
	whole, every, lateWarn, lateFail time.Duration
	large                            int64
}

func usualPace() pace {
	return pace{whole: 2 * time.Second, every: 500 * time.Millisecond, lateWarn: 400 * time.Millisecond, lateFail: time.Second, large: 8 << 20}
}

// event is one of a stream: when it came, since the request was sent, and what it holds.
type event struct {
	at   time.Duration
	data string
}

// flow is a stream that was read to its end.
type flow struct {
	answer *answer
	events []event
	// took is the time to the end, err why it ended; nil is the server's own end.
	took time.Duration
	err  error
}

// watch reads a stream. An answer that is no stream is returned as that.
func (e *exam) watch(ctx context.Context, a ask) (*flow, *answer, error) {
	ctx, cancel := context.WithTimeout(ctx, a.time)
	defer cancel()
	if a.header == nil {
		a.header = map[string]string{}
	}
	a.header["Accept"] = "text/event-stream"
	// Browsers and Node ask for compression, so proxies are to be seen with it.
	if a.header["Accept-Encoding"] == "" {
		a.header["Accept-Encoding"] = "gzip"
	}
	began := time.Now()
	res, out, err := e.open(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close() //nolint:errcheck // only read
	if out.contentType() != "text/event-stream" || out.status != http.StatusOK {
		out.body, err = io.ReadAll(io.LimitReader(res.Body, maxRead))
		return nil, out, err
	}
	f := &flow{answer: out}
	f.read(res.Body, began)
	f.took = time.Since(began)
	return f, out, nil
}

// read reads the events until the stream ends.
func (f *flow) read(r io.Reader, began time.Time) {
	if strings.EqualFold(f.answer.header.Get("Content-Encoding"), "gzip") {
		z, err := gzip.NewReader(r)
		if err != nil {
			f.err = err
			return
		}
		r = z
	}
	lines := bufio.NewReader(io.LimitReader(r, maxRead))
	more := false // the line goes on with an event
	for {
		line, err := lines.ReadString('\n')
		line = strings.TrimRight(line, "\r\n")
		switch data, ok := strings.CutPrefix(line, "data:"); {
		case ok && more:
			f.events[len(f.events)-1].data += "\n" + data
		case ok:
			f.events = append(f.events, event{at: time.Since(began), data: data})
			more = true
		case line == "":
			more = false
		}
		if err != nil {
			if err != io.EOF { //nolint:errorlint // what a Reader returns is the value itself
				f.err = err
			}
			return
		}
	}
}

// beat is what an event of the probe says.
type beat struct {
	At        int64 `json:"at_ms"`
	Heartbeat int64 `json:"heartbeat_ms"`
	Last      bool  `json:"last"`
}

// beats are the events of a flow that are the probe's.
func (f *flow) beats() []beat {
	var list []beat
	for _, ev := range f.events {
		var b beat
		if json.Unmarshal([]byte(ev.data), &b) != nil || b.Heartbeat == 0 {
			return nil
		}
		list = append(list, b)
	}
	return list
}

// complete reports whether the probe came to its end.
func (f *flow) complete() bool {
	b := f.beats()
	return len(b) > 0 && b[len(b)-1].Last
}

// late is by how much an event came later than another, compared with when they were
// sent: 0 if all of them took the same time.
func (f *flow) late() time.Duration {
	var least, most time.Duration
	for i, b := range f.beats() {
		lag := f.events[i].at - time.Duration(b.At)*time.Millisecond
		if i == 0 {
			least, most = lag, lag
		}
		least, most = min(least, lag), max(most, lag)
	}
	return most - least
}

// probe opens Skillyard's stream without a task.
func (e *exam) probe(whole, every time.Duration) ask { return e.probeAt(e.prefix(), whole, every) }

func (e *exam) probeAt(prefix string, whole, every time.Duration) ask {
	return ask{
		method: http.MethodGet, url: e.base.Scheme + "://" + e.base.Host + prefix + fmt.Sprintf("/probe/stream?for=%s&every=%s", whole, every),
		as: caller, time: whole + stepTime,
	}
}

// checkStream looks whether events arrive as they are sent.
func (e *exam) checkStream(ctx context.Context) []Finding {
	p := e.o.pace
	var f *flow
	var a *answer
	for _, prefix := range e.prefixes() {
		var err error
		if f, a, err = e.watch(ctx, e.probeAt(prefix, p.whole, p.every)); err != nil {
			return bad("the stream does not begin: %s", excerpt(plainCause(err)))
		}
		if f != nil {
			e.under = &prefix
			break
		}
	}
	switch {
	case f == nil && a.status == http.StatusServiceUnavailable:
		return skip("the server has too many probes at a time")
	case f == nil:
		hint := "--send looks at the stream of a task"
		if e.o.Send {
			hint = "see task stream"
		}
		return skip("there is no /probe/stream here (HTTP %d), as Skillyard has; %s", a.status, hint)
	}
	beats := f.beats()
	if len(beats) == 0 && f.err == nil {
		return skip("/probe/stream is a stream of another kind")
	}
	e.flow = f
	if len(beats) > 0 {
		e.beat = time.Duration(beats[0].Heartbeat) * time.Millisecond
	}
	if !f.complete() {
		return advise(bad("a stream of %s is cut off after %s", p.whole, round(f.took)), "", fixSilence()...)
	}
	late := f.late()
	if late >= p.lateWarn {
		// A line may falter once; what holds streams back does so each time.
		if again, _, err := e.watch(ctx, e.probe(p.whole, p.every)); err == nil && again != nil && again.complete() && again.late() < late {
			f, late = again, again.late()
		}
	}
	switch {
	case late < p.lateWarn:
		return good("events arrive as they are sent, the first after %d ms", f.events[0].at.Milliseconds())
	case late < p.lateFail:
		return advise(poor("events arrive up to %s late: something holds them back, or the line is bad", round(late)), "", fixBuffering()...)
	}
	text := fmt.Sprintf("events are held back: up to %s, %d of %d came together", round(late), f.together(), len(f.events))
	if enc := f.answer.header.Get("Content-Encoding"); enc != "" {
		// Without compression the same stream shows which of the two it is.
		again := e.probe(p.whole, p.every)
		again.header = map[string]string{"Accept-Encoding": "identity"}
		plain, _, err := e.watch(ctx, again)
		if err == nil && plain != nil && plain.complete() && plain.late() < p.lateWarn {
			return advise(bad("%s, because they are compressed (%s)", text, excerpt(enc)), "", fixCompression()...)
		}
	}
	return advise(bad("%s", text), "", fixBuffering()...)
}

// together is the largest number of events that came within a twentieth of a second.
func (f *flow) together() int {
	most := 0
	for i := range f.events {
		n := 0
		for _, ev := range f.events[i:] {
			if ev.at-f.events[i].at < 50*time.Millisecond {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }

// checkStreamHeaders looks at the headers of the stream that was read.
func (e *exam) checkStreamHeaders(context.Context) []Finding {
	h := e.flow.answer.header
	var list []Finding
	if enc := h.Get("Content-Encoding"); enc != "" && enc != "identity" {
		list = append(list, advise(poor("event streams are compressed (%s): what compresses gathers first, and some clients cannot read it", excerpt(enc)), "", fixCompression()...)...)
	}
	cache := strings.ToLower(h.Get("Cache-Control"))
	if !strings.Contains(cache, "no-cache") && !strings.Contains(cache, "no-store") {
		list = append(list, found(Warn, "event streams have no Cache-Control: no-cache, so a cache on the way may keep one"))
	}
	// nginx keeps the header for itself.
	if e.proxy != "nginx" && !strings.EqualFold(h.Get("X-Accel-Buffering"), "no") {
		list = append(list, found(Warn, "event streams have no X-Accel-Buffering: no, which keeps an nginx on the way from holding them back"))
	}
	if list == nil {
		return good("not compressed, not to be cached")
	}
	return list
}

// checkSilence has a stream be silent for as long as real ones are.
func (e *exam) checkSilence(ctx context.Context) []Finding {
	silence := min(e.beat, silenceMost)
	if end, ok := ctx.Deadline(); ok && time.Until(end) < silence+time.Second {
		e.late = true
		return advise(skip("it takes %s, for which there is no time left", silence), "give more by --timeout")
	}
	f, a, err := e.watch(ctx, e.probe(silence, silence))
	switch {
	case err != nil:
		return bad("the stream does not begin: %s", excerpt(plainCause(err)))
	case f == nil:
		return skip("the probe answers %s", a.words())
	case !f.complete():
		return advise(bad("a stream that is silent is cut off after %s; the server's heartbeat is every %s", round(f.took), e.beat),
			"let the proxy wait longer, or set the server's stream.heartbeat below that", fixSilence()...)
	case silence < e.beat:
		return poor("a stream may be silent for %s; the server's heartbeat is only every %s, which was not tried", silence, e.beat)
	}
	return good("a stream may be silent for %s, until the server's heartbeat", silence)
}

// checkTaskStream sends a message and watches how the task's events arrive.
func (e *exam) checkTaskStream(ctx context.Context) []Finding {
	limit := stepTime * 4
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end)-time.Second)
	}
	a := e.message()
	a.time = limit
	f, got, err := e.watch(ctx, a)
	switch {
	case err != nil:
		return bad("the stream of a task does not begin: %s", excerpt(plainCause(err)))
	case f == nil:
		return bad("a message that asks for a stream gets %s", got.words())
	}
	if e.flow == nil {
		e.flow = f
	}
	if len(f.events) == 0 {
		return bad("the stream of a task ended after %s without an event", round(f.took))
	}
	first, last := f.events[0].at, f.events[len(f.events)-1].at
	switch {
	case f.err != nil && !isTimeout(f.err):
		return advise(bad("the stream of a task is cut off after %s and %d events", round(f.took), len(f.events)), "", fixSilence()...)
	case last < time.Second:
		return skip("the task was done after %s, too soon to tell; --text can ask for longer work", last.Round(time.Millisecond))
	case len(f.events) == 1:
		return skip("the agent sent one event only, after %s; that tells nothing", round(last))
	case last-first < last/10:
		return advise(bad("%d events of a task came all at once, after %s: they are held back, or the agent tells nothing before it is done", len(f.events), round(last)), "", fixBuffering()...)
	}
	return good("%d events of a task, the first after %d ms, the last after %s", len(f.events), first.Milliseconds(), round(last))
}

// message is the text of the options as a message to the main interface, for a stream.
func (e *exam) message() ask {
	text, _ := json.Marshal(e.o.Text) // a string always marshals
	metadata := ""
	if e.o.Skill != "" {
		skill, _ := json.Marshal(e.o.Skill) // so does this one
		metadata = `,"metadata":{"skillId":` + string(skill) + `}`
	}
	id := `"messageId":"` + uuid.NewString() + `"`
	part := `[{"text":` + string(text) + `}]`
	at, method := e.main.reach, "SendStreamingMessage"
	var message string
	switch {
	case e.main.version == v1:
		message = `{` + id + `,"role":"ROLE_USER","parts":` + part + `}`
		at = strings.TrimRight(at, "/") + "/message:stream"
	case e.main.binding == rest:
		message = `{` + id + `,"role":"ROLE_USER","content":` + part + `}`
		at = strings.TrimRight(at, "/") + "/v1/message:stream"
	default:
		method = "message/stream"
		message = `{"kind":"message",` + id + `,"role":"user","parts":[{"kind":"text","text":` + string(text) + `}]}`
	}
	body := `{"message":` + message + metadata + `}`
	if e.main.binding == rpc {
		at, body = e.main.reach, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+body+`}`
	}
	return ask{
		method: http.MethodPost, url: at, body: strings.NewReader(body), size: int64(len(body)), as: caller,
		header: map[string]string{"Content-Type": "application/json", "A2A-Version": e.main.version},
	}
}
