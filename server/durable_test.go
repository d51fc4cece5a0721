package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/server/servertest"
)

// post sends a body and returns the answer, or an error when the server is gone.
func post(ctx context.Context, url, body string) (servertest.Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/", strings.NewReader(body))
	if err != nil {
		return servertest.Answer{}, err
	}
	req.Header.Set("Authorization", "Bearer alice-token")
	req.Header.Set("A2A-Version", "1.0")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return servertest.Answer{}, err
	}
	defer res.Body.Close() //nolint:errcheck // read to its end
	b, err := io.ReadAll(res.Body)
	return servertest.Answer{Status: res.StatusCode, Header: res.Header, Body: b}, err
}

// TestDurable_Kill kills a server in the middle of 256 sends that do not wait, and
// starts it again on the same data: every task whose id was given out is there and
// comes to its end, once.
func TestDurable_Kill(t *testing.T) {
	dir := dataDir(t, 16, "1s")
	p := start(t, dir)
	const sends, enough = 256, 100
	acked := make(chan string, sends)
	var wg sync.WaitGroup
	for i := range sends {
		wg.Go(func() {
			text := fmt.Sprintf("@sleep 0.%d", i%4) // some end at once, some run, many wait
			a, err := post(t.Context(), p.URL, call("SendMessage", message(text, "", `{"returnImmediately":true}`)))
			if id := taskID(a); err == nil && a.Status == 200 && id != "" {
				acked <- id
			}
		})
	}
	var ids []string
	for len(ids) < enough {
		ids = append(ids, <-acked)
	}
	p.kill()
	wg.Wait()
	close(acked)
	for id := range acked {
		ids = append(ids, id)
	}

	p = start(t, dir)
	for _, id := range ids {
		a := p.until(id, "TASK_STATE_COMPLETED")
		want(t, a, "slept", "result", "artifacts", 0, "parts", 0, "text")
		want(t, a, nil, "result", "artifacts", 1)
		ends := 0
		for _, f := range p.log0(id) {
			if f.Get("result", "statusUpdate", "status", "state") == "TASK_STATE_COMPLETED" {
				ends++
			}
		}
		if ends != 1 {
			t.Errorf("task %s was completed %d times, want once", id, ends)
		}
	}
	// What was stored but not acknowledged ends as well.
	var open json.Number
	eventually(t, "no task is left open", func() bool {
		open = "0"
		for _, state := range []string{"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"} {
			if n := p.v1("ListTasks", params("status", state, "pageSize", 1)).Get("result", "totalSize").(json.Number); n != "0" {
				open = n
			}
		}
		return open == "0"
	})
	total := p.v1("ListTasks", `{"pageSize":1}`).Get("result", "totalSize")
	t.Logf("%d sends, %d acknowledged before the kill, %v stored, all completed once", sends, len(ids), total)
}

// log0 returns all events of an ended task, from its log.
func (p *process) log0(id string) []servertest.Answer {
	p.t.Helper()
	_, frames := p.stream(call("SubscribeToTask", params("id", id)), v10, "Last-Event-ID: 0")
	return frames
}

// TestDurable_Terminate stops a server that has running and waiting work: callers
// that wait are answered, nothing is lost, and the next start goes on.
func TestDurable_Terminate(t *testing.T) {
	dir := dataDir(t, 2, "500ms")
	p := start(t, dir)
	// One ends within the shutdown's time, one does not, many wait in the queue.
	quick, slow := p.bg("@sleep 0.3"), p.bg("@sleep 2")
	p.until(quick, "TASK_STATE_WORKING")
	p.until(slow, "TASK_STATE_WORKING")
	const callers = 30
	answers := make(chan servertest.Answer, callers)
	for range callers {
		go func() {
			a, err := post(context.Background(), p.URL, call("SendMessage", message("@sleep 0.1", `{"contextId":"waiting"}`, "")))
			if err != nil {
				t.Errorf("a waiting call was cut off: %v", err)
			}
			answers <- a
		}()
	}
	streamed := make(chan []servertest.Answer, 1)
	go func() {
		_, frames := p.stream(call("SubscribeToTask", params("id", slow)), v10)
		streamed <- frames
	}()
	eventually(t, "the others wait", func() bool {
		n, _ := p.v1("ListTasks", `{"contextId":"waiting","pageSize":1}`).Get("result", "totalSize").(json.Number)
		return n.String() == fmt.Sprint(callers)
	})
	if took := p.terminate(); took > 2*time.Second {
		t.Errorf("the server took %s to stop\n%s", took, p.log)
	}
	var waiting []string
	for range callers {
		a := <-answers
		checkV1(t, "SendMessage", a.Body)
		waiting = append(waiting, taskID(a))
	}
	if frames := <-streamed; len(frames) == 0 {
		t.Error("the stream had no frame")
	}
	for _, line := range p.log.lines(t, "request") {
		if status, _ := line["status"].(float64); status >= 500 {
			t.Errorf("a request was answered with an error: %v", line)
		}
	}

	p = start(t, dir)
	// Ended before the stop, taken up again, and started for the first time.
	wantState(t, p.get(quick), "TASK_STATE_COMPLETED")
	for _, id := range append(waiting, slow) {
		p.until(id, "TASK_STATE_COMPLETED")
	}
	if took := p.terminate(); took > 2*time.Second {
		t.Errorf("the idle server took %s to stop", took)
	}
}

// TestDurable_NoRetry: work that may not be repeated ends with a reason.
func TestDurable_NoRetry(t *testing.T) {
	dir := dataDir(t, 2, "300ms")
	edit(t, dir, "retry: on_crash", "retry: never")
	for name, stop := range map[string]func(*process){
		"kill": (*process).kill, "terminate": func(p *process) { p.terminate() },
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, dir)
			id := p.bg("@hang")
			p.until(id, "TASK_STATE_WORKING")
			asked := p.done("@ask", "")
			stop(p)
			p = start(t, dir)
			a := p.until(id, "TASK_STATE_FAILED")
			want(t, a, "interrupted by a restart", "result", "status", "message", "parts", 0, "text")
			// A pause outlives the process: nothing was running.
			wantState(t, p.get(asked), "TASK_STATE_INPUT_REQUIRED")
			wantState(t, p.send("blue", params("taskId", asked), ""), "TASK_STATE_COMPLETED")
			p.terminate()
		})
	}
}

// TestDurable_SecondProcess: a data directory has one server.
func TestDurable_SecondProcess(t *testing.T) {
	dir := dataDir(t, 2, "1s")
	first := start(t, dir)
	id := first.bg("@sleep 0.5")
	second, url := launch(t, dir)
	if url != "" {
		t.Fatalf("a second server runs on the same data at %s", url)
	}
	<-second.ended
	if second.err == nil || !strings.Contains(second.log.String(), "is in use by process") {
		t.Errorf("the second server ended with %v and said %q, want an error that says why", second.err, second.log)
	}
	first.until(id, "TASK_STATE_COMPLETED") // the first one has taken no harm
}

// TestDurable_Idempotency: keys and page tokens outlive the process.
func TestDurable_Idempotency(t *testing.T) {
	dir := dataDir(t, 2, "1s")
	p := start(t, dir)
	const key = "Idempotency-Key: k"
	id := taskID(p.send("@echo once", `{"contextId":"c"}`, "", key))
	p.done("@echo two", `{"contextId":"c"}`)
	page := p.v1("ListTasks", `{"contextId":"c","pageSize":1}`)
	p.kill()
	p = start(t, dir)
	if again := taskID(p.send("@echo once", `{"contextId":"c"}`, "", key)); again != id {
		t.Errorf("got task %s for the key after a restart, want %s", again, id)
	}
	a := p.v1("ListTasks", params("contextId", "c", "pageSize", 1, "pageToken", page.Get("result", "nextPageToken")))
	want(t, a, id, "result", "tasks", 0, "id")
}

// TestDurable_TimeZones is case B-176: no time depends on the process's zone.
func TestDurable_TimeZones(t *testing.T) {
	dir := dataDir(t, 2, "1s")
	p := start(t, dir, "TZ=Asia/Tokyo")
	before := time.Now().UTC().Truncate(time.Millisecond)
	id := p.done("@echo x", "")
	first := p.get(id)
	at, err := time.Parse(time.RFC3339, first.Get("result", "status", "timestamp").(string))
	if err != nil || at.Before(before) || at.After(time.Now()) || !timestamp.MatchString(first.Get("result", "status", "timestamp").(string)) {
		t.Errorf("got timestamp %v (%v), want one of now in UTC", first.Get("result", "status", "timestamp"), err)
	}
	p.terminate()
	p = start(t, dir, "TZ=America/New_York")
	if d := cmp.Diff(first.Get("result"), p.get(id).Get("result")); d != "" {
		t.Errorf("the task reads otherwise after a restart in another zone:\n%s", d)
	}
	for after, n := range map[time.Time]int{at: 1, at.Add(time.Millisecond): 0} {
		want(t, p.v1("ListTasks", params("statusTimestampAfter", after.Format(time.RFC3339Nano))), n, "result", "totalSize")
	}
}
