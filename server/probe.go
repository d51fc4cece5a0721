package server

import (
	"net/http"
	"strconv"
	"time"

	"github.com/skillyard/skillyard/server/stream"
	"github.com/skillyard/skillyard/wire/sse"
)

// Bounds of the probe: it is public, so what it can cost is small.
const (
	probeStreams  = 8 // of all callers together
	probeShortest = 100 * time.Millisecond
	probeLongest  = time.Minute
	probeFor      = 3 * time.Second
	probeEvery    = time.Second
)

// probe serves GET /probe/stream: a stream without a task, with the headers of every
// other stream, of events that say when they were sent. A client behind a proxy sees by
// it whether streams are held back, cut off or compressed on the way to it.
type probe struct {
	o     stream.Options
	slots chan struct{}
	stop  chan struct{}
}

func newProbe(o stream.Options) *probe {
	return &probe{o: o.WithDefaults(), slots: make(chan struct{}, probeStreams), stop: make(chan struct{})}
}

// close ends the streams that are open. It is called once.
func (p *probe) close() { close(p.stop) }

// ServeHTTP sends an event at once, one after each ?every= and one when ?for= is over,
// whose "last" is true. It needs no key and reads nothing.
func (p *probe) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	whole, ok := probeTime(r, "for", probeFor)
	every, ok2 := probeTime(r, "every", min(probeEvery, whole))
	if !ok || !ok2 || every > whole {
		writeJSON(w, r, http.StatusBadRequest, []byte(`{"detail":"for and every are durations such as 3s: every is 100ms or more, for is at least every and at most 1m."}`+"\n"))
		return
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	default:
		w.Header().Set("Retry-After", "1")
		writeJSON(w, r, http.StatusServiceUnavailable, []byte(`{"detail":"Too many probes at a time; try again in a second."}`+"\n"))
		return
	}
	stream.Open(w)
	began := time.Now()
	tick := time.NewTicker(every)
	defer tick.Stop()
	over := time.NewTimer(whole)
	defer over.Stop()
	for last := false; p.send(w, time.Since(began), last) && !last; {
		select {
		case <-tick.C:
		case <-over.C:
			last = true
		case <-r.Context().Done():
			return
		case <-p.stop:
			return
		}
	}
}

// send reports whether an event went out.
func (p *probe) send(w http.ResponseWriter, at time.Duration, last bool) bool {
	b := sse.AppendStart(nil, 0, "probe")
	b = append(b, `{"at_ms":`...)
	b = strconv.AppendInt(b, at.Milliseconds(), 10)
	b = append(b, `,"heartbeat_ms":`...)
	b = strconv.AppendInt(b, p.o.Heartbeat.Milliseconds(), 10)
	b = append(b, `,"last":`...)
	b = sse.AppendEnd(append(strconv.AppendBool(b, last), '}'))
	rc := http.NewResponseController(w)
	// A connection without deadlines is one of a test.
	_ = rc.SetWriteDeadline(time.Now().Add(p.o.WriteTimeout))
	if _, err := w.Write(b); err != nil {
		return false
	}
	return rc.Flush() == nil
}

// probeTime reads a duration from the query.
func probeTime(r *http.Request, name string, unset time.Duration) (time.Duration, bool) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return unset, true
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= probeShortest && d <= probeLongest
}
