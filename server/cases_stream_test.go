package server_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

// frameCases are about how a stream looks on the wire.
func frameCases() []bugCase {
	return []bugCase{
		{"B-070", "each_document_on_one_line", func(t *testing.T) {
			// JSON of the client, which is kept as it is, has line breaks of all kinds.
			body := "{\"jsonrpc\":\"2.0\",\r\n\"id\":\"a\\r\\nb\",\"method\":\"SendStreamingMessage\",\"params\":{\"message\":{\"messageId\":\"m\",\"role\":\"ROLE_USER\",\"metadata\":{\r\n\"x\":\n1},\"parts\":[{\"text\":\"@data\"}," +
				"{\"data\":{\"a\":[\n1,\r\n2],\r\"b\":\"c\\nd\\r\"},\"metadata\":{\n\"y\":\r2\n}},{\"text\":\"e\\n\\nf\\u2028\"}]}}}"
			c := probe(t)
			for _, version := range []string{v10, "A2A-Version: 0.3"} {
				if version != v10 {
					body = strings.NewReplacer("SendStreamingMessage", "message/stream", "ROLE_USER", "user", `{"text"`, `{"kind":"text","text"`, `{"data"`, `{"kind":"data","data"`, `{"message":{`, `{"message":{"kind":"message",`).Replace(body)
				}
				raw := c.RPC(body, alice, version, "Accept: text/event-stream")
				if bytes.ContainsRune(raw.Body, '\r') {
					t.Errorf("a carriage return, which ends a line, is in the stream: %q", raw.Body)
				}
				frames := 0
				for _, event := range strings.Split(strings.TrimSuffix(string(raw.Body), "\n\n"), "\n\n") {
					data := 0
					for line := range strings.Lines(event + "\n") {
						name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
						if name == "data" {
							data++
							envelope(t, []byte(value))
						} else if name != "id" {
							t.Errorf("line %q of the stream is neither data nor an id", line)
						}
					}
					if frames++; data != 1 {
						t.Errorf("event has %d data lines: %q", data, event)
					}
				}
				if frames < 3 {
					t.Errorf("got %d frames: %s", frames, raw.Body)
				}
				text := string(raw.Body)
				if !strings.Contains(text, `"c\nd\r"`) || !strings.Contains(text, `e\n\nf`) {
					t.Errorf("the texts are not what was sent: %s", text)
				}
			}
		}},
		{"B-073", "ends_with_a_blank_line", func(t *testing.T) {
			c := probe(t)
			submit(t, c.Server, `{"taskId":"t-1","message":{"role":"user","parts":[{"text":"@echo x"}]}}`, alice)
			for name, a := range map[string]servertest.Answer{
				"1.0":   c.RPC(call("SendStreamingMessage", message("@echo x", "", "")), alice, v10),
				"0.3":   c.RPC(call("message/stream", message03(text03("@echo x"), "", "")), alice),
				"emm":   c.Do(http.MethodGet, "/api/a2a/tasks/t-1/stream", "", alice),
				"error": c.RPC(onTask("SubscribeToTask", "nope"), alice, v10, "Accept: text/event-stream"),
			} {
				if !bytes.HasSuffix(a.Body, []byte("}\n\n")) || a.Header.Get("Content-Type") != "text/event-stream" {
					t.Errorf("%s: got %s %q, want a stream that ends with a blank line", name, a.Header.Get("Content-Type"), a.Body)
				}
			}
		}},
		{"B-074", "sent_at_once_and_uncompressed", func(t *testing.T) {
			c := probe(t)
			for _, body := range []string{send1("@chunks 2 2000", ""), send03("@chunks 2 2000", "")} {
				st := openStream(t, c.Server, http.MethodPost, "/", body, alice, "Accept-Encoding: gzip, br")
				h := st.res.Header
				if h.Get("Content-Encoding") != "" || !strings.Contains(h.Get("Cache-Control"), "no-cache") || h.Get("X-Accel-Buffering") != "no" {
					t.Errorf("got headers %v", h)
				}
				began := time.Now()
				var r reader
				r.read(st, 3)
				if took := time.Since(began); took > 1500*time.Millisecond {
					t.Errorf("the first chunk of two came after %s, want it before the second", took)
				}
				if s := string(r.frames[2].Body); !strings.Contains(s, "chunk-1") {
					t.Errorf("the third frame is %s, want the first chunk", s)
				}
				st.close()
			}
			var zipped bytes.Buffer
			w := gzip.NewWriter(&zipped)
			_, _ = io.WriteString(w, call("SendMessage", message("@echo x", "", ""))) // to a buffer
			_ = w.Close()
			a := c.RPC(zipped.String(), alice, v10, "Content-Encoding: gzip")
			if a.Status != http.StatusUnsupportedMediaType {
				t.Errorf("a compressed request got HTTP %d, want 415", a.Status)
			}
		}},
	}
}

// streamCases are about the life of streams.
func streamCases() []bugCase {
	return []bugCase{
		{"B-079", "task_outlives_its_caller", func(t *testing.T) {
			c := probe(t)
			h := newHook(t, nil)
			body := call("SendStreamingMessage", message("@chunks 6 100", "", inline(h.url, "")))
			st := openStream(t, c.Server, http.MethodPost, "/", body, alice, v10)
			first, _ := st.next()
			st.close()
			id, _ := first.Get("result", "task", "id").(string)
			a := c.until(id, "TASK_STATE_COMPLETED")
			if got := texts(a.Get("result", "artifacts", 0)); got != numbered(6) {
				t.Errorf("got %q, want all chunks", got)
			}
			wantTold(t, h.until(t, "TASK_STATE_COMPLETED"), "WORKING", "chunk-1 ", "chunk-2 ", "chunk-3 ", "chunk-4 ", "chunk-5 ", "chunk-6 ", "COMPLETED")

			ctx, leave := context.WithCancel(t.Context())
			left := make(chan struct{})
			go func() {
				defer close(left)
				_, _ = post(ctx, c.URL, call("SendMessage", message("@sleep 1", `{"contextId":"dropped"}`, ""))) // cut off on purpose
			}()
			list := func(state string) bool {
				return c.v1("ListTasks", `{"contextId":"dropped"}`).Get("result", "tasks", 0, "status", "state") == state
			}
			eventually(t, "the task works", func() bool { return list("TASK_STATE_WORKING") })
			leave()
			<-left
			eventually(t, "the task is completed", func() bool { return list("TASK_STATE_COMPLETED") })
		}},
		{"B-080", "many_streams_dropped_at_once", func(t *testing.T) {
			c := probe(t, func(cfg *configs.Config) { cfg.Stream.Heartbeat = time.Hour })
			idle := func() int {
				http.DefaultClient.CloseIdleConnections()
				runtime.GC()
				return runtime.NumGoroutine()
			}
			base := idle()
			const n = 200
			streams := make([]*stream, n)
			var wg sync.WaitGroup
			for i := range n {
				wg.Go(func() {
					streams[i] = openStream(t, c.Server, http.MethodPost, "/", send1("@sleep 3", `,"contextId":"wave"`), alice, v10)
					if _, ok := streams[i].next(); !ok {
						t.Errorf("stream %d has no first frame", i)
					}
				})
			}
			wg.Wait()
			for _, s := range streams {
				s.close()
			}
			began := time.Now()
			if a := c.Do(http.MethodGet, "/healthz", ""); a.Status != 200 || time.Since(began) > time.Second {
				t.Errorf("health: got HTTP %d after %s", a.Status, time.Since(began))
			}
			eventually(t, "all tasks end", func() bool {
				a := c.v1("ListTasks", `{"contextId":"wave","status":"TASK_STATE_COMPLETED","pageSize":1}`)
				return fmt.Sprint(a.Get("result", "totalSize")) == fmt.Sprint(n)
			})
			eventually(t, fmt.Sprintf("no more than about %d goroutines are left", base), func() bool { return idle() <= base+10 })
		}},
		{"B-085", "subscription_after_a_restart", func(t *testing.T) {
			dir := t.TempDir()
			open := func() *client {
				return &client{t: t, Server: servertest.New(t, servertest.Options{YAML: probeYAML(t), Dir: dir})}
			}
			c := open()
			asked, signedOut := c.done("@ask", ""), c.done("@auth", "")
			c.Stop()
			c = open()
			for _, id := range []string{asked, signedOut} {
				state := c.get(id).Get("result", "status", "state")
				old := openStream(t, c.Server, http.MethodPost, "/", onTask("tasks/resubscribe", id), alice).rest()
				if len(old) != 1 || !strings.HasSuffix(old[0].state(), "-required") {
					t.Errorf("0.3: got %v, want the task alone", states(old))
				}
				st := openStream(t, c.Server, http.MethodPost, "/", onTask("SubscribeToTask", id), alice, v10)
				first, ok := st.next()
				if !ok || first.Get("result", "task", "status", "state") != state {
					t.Fatalf("got first frame %s, want the task %v", first.Body, state)
				}
				wantState(t, c.send("blue", params("taskId", id), ""), "TASK_STATE_COMPLETED")
				if got := states(st.rest()); got != "TASK_STATE_WORKING TASK_STATE_COMPLETED" {
					t.Errorf("got %s, want the next turn", got)
				}
			}
		}},
	}
}

// pressureCases are about what many requests leave behind.
func pressureCases() []bugCase {
	return []bugCase{
		{"B-149", "ended_tasks_leave_nothing_in_memory", func(t *testing.T) {
			c := probe(t, pruning)
			const round, parallel = 1000, 20
			measure := func() (heap uint64, goroutines int) {
				next := make(chan struct{}, round)
				for range round {
					next <- struct{}{}
				}
				close(next)
				var wg sync.WaitGroup
				for range parallel {
					wg.Go(func() {
						for range next {
							if a, err := post(t.Context(), c.URL, call("SendMessage", message("@echo x", "", ""))); err != nil || a.Status != 200 {
								t.Errorf("send: HTTP %d, %v", a.Status, err)
							}
						}
					})
				}
				wg.Wait()
				eventually(t, "the tasks are pruned", func() bool {
					return fmt.Sprint(c.v1("ListTasks", `{"pageSize":1}`).Get("result", "totalSize")) == "0"
				})
				http.DefaultClient.CloseIdleConnections()
				var m runtime.MemStats
				for range 3 { // pools take two rounds to be emptied
					runtime.GC()
				}
				runtime.ReadMemStats(&m)
				return m.HeapAlloc, runtime.NumGoroutine()
			}
			measure()
			before, goroutines := measure()
			measure()
			measure()
			after, more := measure()
			// A pointer that is kept for each task would be seen: its task comes with it.
			const perTask = 200
			if after > before+3*round*perTask || more > goroutines+20 {
				t.Errorf("after %d more tasks the heap went from %d to %d bytes, goroutines from %d to %d", 3*round, before, after, goroutines, more)
			}
			t.Logf("heap %d → %d bytes, goroutines %d → %d", before, after, goroutines, more)
		}},
	}
}
