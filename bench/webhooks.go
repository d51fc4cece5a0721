package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// hookRate is how many tasks with a webhook are started per second, and
// hookPatience how long their last deliveries may take.
const (
	hookRate     = 100
	hookPatience = 10 * time.Second
)

// pushes is how long it takes that a webhook hears of a task's end, counted from the
// request, while some webhooks do not answer. Times are milliseconds.
type pushes struct {
	Receivers int     `json:"receivers"`
	Hanging   int     `json:"hanging"`
	Tasks     int     `json:"tasks"` // of those that answer
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	Max       float64 `json:"max_ms"`
}

// receivers are webhooks, each on a loopback address of its own, as on hosts of
// their own. Each hundredth takes a delivery and does not answer.
type receivers struct {
	servers []*http.Server
	urls    []string
	release chan struct{} // closed when those that hang may answer

	mu  sync.Mutex
	due map[string]time.Time // guarded by mu; when the task of a path was asked for
	lat []time.Duration      // guarded by mu
}

func (r *receivers) hangs(i int) bool { return i%100 == 99 || i == len(r.urls)-1 && i < 100 }

func openReceivers(n int) (*receivers, error) {
	r := &receivers{release: make(chan struct{}), due: map[string]time.Time{}}
	listeners := make([]net.Listener, 0, n)
	for i := range n {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.%d.%d:0", 1+i/200, 1+i%200))
		if err != nil {
			r.close()
			return nil, err
		}
		listeners = append(listeners, l)
		r.urls = append(r.urls, "http://"+l.Addr().String())
	}
	for i, l := range listeners {
		handler := r.answer
		if r.hangs(i) {
			handler = r.hang
		}
		s := &http.Server{Handler: http.HandlerFunc(handler)}
		r.servers = append(r.servers, s)
		go func() { _ = s.Serve(l) }() // ends with close
	}
	return r, nil
}

func (r *receivers) close() {
	close(r.release)
	for _, s := range r.servers {
		_ = s.Close() // nothing is to be delivered any more
	}
}

// ask notes that the task of the path is asked for now.
func (r *receivers) ask(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.due[path] = time.Now()
}

func (r *receivers) answer(_ http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil || !bytes.Contains(body, []byte(completed)) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, ok := r.due[req.URL.Path]; ok {
		r.lat = append(r.lat, time.Since(at))
		delete(r.due, req.URL.Path)
	}
}

func (r *receivers) hang(_ http.ResponseWriter, req *http.Request) {
	select {
	case <-r.release:
	case <-req.Context().Done():
	}
}

func (r *receivers) left() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.due)
}

// measurePushes starts tasks on a fixed schedule, each with one of n webhooks, for
// the time of length.
func measurePushes(t target, scratch string, n int, length time.Duration) (pushes, error) {
	data := filepath.Join(scratch, "data")
	defer os.RemoveAll(data)
	p, err := t.start(data)
	if err != nil {
		return pushes{}, err
	}
	defer p.kill()
	hooks, err := openReceivers(n)
	if err != nil {
		return pushes{}, err
	}
	defer hooks.close()
	out := pushes{Receivers: n}
	for i := range n {
		if hooks.hangs(i) {
			out.Hanging++
		}
	}
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 32}}
	defer client.CloseIdleConnections()
	var wg sync.WaitGroup
	tasks := max(n, int(length.Seconds()*hookRate)) // every webhook has one
	errs := make([]error, tasks)
	began := time.Now()
	for i := range tasks {
		time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / hookRate)))
		path := fmt.Sprintf("/%d", i)
		if !hooks.hangs(i % n) {
			hooks.ask(path)
			out.Tasks++
		}
		wg.Go(func() { errs[i] = sendWithWebhook(client, p.addr, hooks.urls[i%n]+path) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return out, err
	}
	for end := time.Now().Add(hookPatience); hooks.left() > 0 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if left := hooks.left(); left > 0 {
		return out, fmt.Errorf("%d of %d deliveries were not made", left, out.Tasks)
	}
	slices.Sort(hooks.lat)
	out.P50, out.P99, out.Max = quantile(hooks.lat, 0.5), quantile(hooks.lat, 0.99), quantile(hooks.lat, 1)
	return out, nil
}

// sendWithWebhook runs one echo task to its end.
func sendWithWebhook(client *http.Client, addr, url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	params := message("m-1", "hello", `{"taskPushNotificationConfig":{"url":"`+url+`","token":"t"}}`)
	body := `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":` + params + `}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/", strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var answer struct {
		Result struct {
			Task struct{ Status struct{ State string } }
		}
		Error any
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return fmt.Errorf("decode answer: %w", err)
	}
	if got := answer.Result.Task.Status.State; got != "TASK_STATE_COMPLETED" {
		return fmt.Errorf("got state %q, error %v", got, answer.Error)
	}
	return nil
}
