package server_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/skillyard/skillyard/configs"
	"github.com/skillyard/skillyard/server/servertest"
)

// reportRows are the rows of weekly_report; what it counts is tested elsewhere.
func reportRows() []submitRow {
	report := func(text string) string {
		return `{"skillId":"weekly_report","message":{"role":"user","parts":[` + textPart(text) + `]}}`
	}
	fails := func(sentence, input string) submitCase {
		return submitCase{params: report(input), skill: "weekly_report", fails: sentence, code: invalid}
	}
	return []submitRow{
		{number: 31, cases: []submitCase{
			{params: report(""), skill: "weekly_report"},
			{params: report(" \n"), skill: "weekly_report"},
			{params: `{"skillId":"weekly_report","message":{"role":"user","parts":[]}}`, skill: "weekly_report"},
		}, run: func(t *testing.T, s *servertest.Server) {
			before := defaultPeriod(time.Now())
			a := submit(t, s, report(""))
			if after := defaultPeriod(time.Now()); after != before {
				t.Skip("the day changed meanwhile")
			}
			wantPeriod(t, a, before[0], before[1])
		}},
		{number: 32, cases: []submitCase{
			fails(`week "2026-W60" is not an ISO week such as 2026-W48`, `{"week":"2026-W60"}`),
			fails(`date_from "23.11.2026" is not a date of the form YYYY-MM-DD`, `{"date_from":"23.11.2026","date_to":"2026-11-29"}`),
			fails("date_from 2026-11-29 is after date_to 2026-11-23", `{"date_from":"2026-11-29","date_to":"2026-11-23"}`),
			fails("the period has 120 days; at most 92 are allowed", `{"date_from":"2026-01-01","date_to":"2026-04-30"}`),
			fails(`timezone "Mars/Olympus" is not known; use an IANA name such as Europe/Kyiv`, `{"timezone":"Mars/Olympus"}`),
			fails(`format must be "markdown" or "json"`, `{"format":"pdf"}`),
			fails(`language must be "en" or "uk"`, `{"language":"xx"}`),
			{params: report(`{"board_id":"b9"}`), fails: "Board b9 not found.", code: "not_found"},
			{params: report(`{"workspace_id":"w9"}`), fails: "Workspace w9 not found.", code: "not_found"},
			{params: report(`{"x":1,"week":null,"board_id":null}`), skill: "weekly_report", warns: []string{`"x"`}},
		}, run: func(t *testing.T, s *servertest.Server) {
			for _, input := range []string{
				`{"operation":"weekly_report","date_from":"2026-11-23","date_to":"2026-11-29"}`,
				`{"from":"2026-11-23","to":"2026-11-29"}`,
				`{"start_date":"2026-11-23","end_date":"2026-11-29"}`,
				`{"week":"2026-W48","board_ids":["roadmap","platform"],"timezone":"Europe/Kyiv"}`,
			} {
				wantPeriod(t, submit(t, s, report(input)), "2026-11-23", "2026-11-29")
			}
			empty := submit(t, s, report(`{"week":"2020-W05","board_id":"support"}`))
			want(t, empty, "completed", "result", "task", "status")
			want(t, empty, 0, "result", "task", "artifact", "parts", 1, "data", "summary", "completed")
		}},
		{number: 33, run: func(t *testing.T, s *servertest.Server) {
			for _, text := range []string{"2026-W48", "2026-11-23..2026-11-29", "the week 2026-W48, please"} {
				wantPeriod(t, submit(t, s, report(text)), "2026-11-23", "2026-11-29")
			}
			wantPeriod(t, submit(t, s, report("2026-11-23")), "2026-11-23", "2026-11-23")
			now := time.Now()
			this, last := week(now), week(now.AddDate(0, 0, -7))
			for text, days := range map[string][2]string{
				"this week": this, "last week": last, "цей тиждень": this, "минулий тиждень": last,
			} {
				a := submit(t, s, report(text))
				if days == this {
					// The current week may be cut at today.
					want(t, a, days[0], "result", "task", "artifact", "parts", 1, "data", "period", "from")
					continue
				}
				wantPeriod(t, a, days[0], days[1])
			}
			a := submit(t, s, report("how are we doing?"))
			checkReport(t, a)
			want(t, a, "how are we doing?", "result", "task", "artifact", "parts", 1, "data", "request", "text")
		}},
	}
}

func wantPeriod(t *testing.T, a servertest.Answer, from, to string) {
	t.Helper()
	checkReport(t, a)
	want(t, a, from, "result", "task", "artifact", "parts", 1, "data", "period", "from")
	want(t, a, to, "result", "task", "artifact", "parts", 1, "data", "period", "to")
}

// week is the Monday and the Sunday around a day.
func week(day time.Time) [2]string {
	day = day.UTC()
	monday := day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
	return [2]string{monday.Format(time.DateOnly), monday.AddDate(0, 0, 6).Format(time.DateOnly)}
}

// defaultPeriod is Monday to today, and on a Monday the week before.
func defaultPeriod(now time.Time) [2]string {
	if now = now.UTC(); now.Weekday() == time.Monday {
		return week(now.AddDate(0, 0, -7))
	}
	return [2]string{week(now)[0], now.Format(time.DateOnly)}
}

// taskIDRows are the rows about the id that the client chooses.
func taskIDRows() []submitRow {
	return []submitRow{
		{number: 25, run: func(t *testing.T, s *servertest.Server) {
			seen := map[string]bool{}
			for _, member := range []string{"", `"taskId":null,`, `"taskId":"",`} {
				a := submit(t, s, `{`+member+`"skillId":"list_workspaces"}`)
				id, err := uuid.Parse(taskID(a))
				if err != nil || id.Version() != 4 {
					t.Errorf("got id %q, want a UUIDv4", taskID(a))
				}
				if seen[taskID(a)] {
					t.Errorf("id %s was given twice", id)
				}
				seen[taskID(a)] = true
			}
		}},
		{number: 26, run: func(t *testing.T, s *servertest.Server) {
			for _, id := range []string{
				`true`, `[]`, `{}`, `1.5`, `1e3`, quote(strings.Repeat("x", 129)), `"a\nb"`, `"a\u0000b"`, `"a/b"`, `"/"`, `"  "`,
			} {
				a := s.RPC(call("tasks/submit", `{"taskId":`+id+`,"skillId":"list_workspaces"}`))
				wantCode(t, a, -32602)
				want(t, a, "invalid_params", "error", "data", "reason")
			}
			for _, id := range []string{`7`, quote(strings.Repeat("x", 128))} {
				a := submit(t, s, `{"taskId":`+id+`,"skillId":"list_workspaces"}`)
				want(t, a, strings.Trim(id, `"`), "result", "task", "id")
			}
		}},
		{number: 27, run: func(t *testing.T, s *servertest.Server) {
			p := `{"taskId":"again","skillId":"list_board","message":{"role":"user","parts":[` + textPart("website") + `]}}`
			first := submit(t, s, p)
			checkBoard(t, first, "website")
			file := filepath.Join(s.Dir, "boards", "boards", "website.json")
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(strings.Replace(string(b), "Website", "Renamed", 1)), 0o644); err != nil {
				t.Fatal(err)
			}
			for _, a := range []servertest.Answer{submit(t, s, p), s.RPC(call("tasks/status", `{"taskId":"again"}`))} {
				checkBoard(t, a, "website")
				want(t, a, "Renamed", "result", "task", "artifact", "parts", 1, "data", "name")
			}
			// Another request may take the place of one that has ended, too.
			checkBoard(t, submit(t, s, strings.Replace(p, "website", "platform", 1)), "platform")
		}},
		{number: 28, run: func(t *testing.T, _ *servertest.Server) {
			c := probe(t)
			p := func(text string) string {
				return `{"taskId":"same","blocking":false,"message":{"parts":[{"text":` + quote(text) + `}]}}`
			}
			first := submit(t, c.Server, p("@hang"), alice)
			for range 3 {
				again := submit(t, c.Server, p("@hang"), alice)
				want(t, again, one("submitted", "working"), "result", "task", "status")
				want(t, again, first.Get("result", "task", "createdAt"), "result", "task", "createdAt")
			}
			other := strings.Replace(p("@hang"), `"blocking"`, `"skillId":"list_workspaces","blocking"`, 1)
			for _, body := range []string{p("@echo x"), other} {
				a := c.RPC(call("tasks/submit", body), alice)
				wantCode(t, a, -32602)
				want(t, a, "task_id_conflict", "error", "data", "reason")
			}
			// One run only: after the cancel nothing comes to life again.
			wantState(t, c.cancel("same"), "TASK_STATE_CANCELED")
			wantState(t, c.get("same"), "TASK_STATE_CANCELED")
		}},
		{number: 29, run: func(t *testing.T, _ *servertest.Server) {
			c := probe(t)
			p := `{"taskId":"hers","message":{"parts":[{"text":"@echo secret-42"}]}}`
			submit(t, c.Server, p, alice)
			for _, body := range []string{p, strings.Replace(p, "secret-42", "stolen", 1)} {
				a := c.RPC(call("tasks/submit", body), bob)
				wantCode(t, a, -32602)
				want(t, a, "task_id_conflict", "error", "data", "reason")
				if strings.Contains(string(a.Body), "secret") || strings.Contains(string(a.Body), "alice") {
					t.Errorf("the refusal tells about the other's task: %s", a.Body)
				}
			}
			a := c.RPC(call("tasks/status", `{"taskId":"hers"}`), alice)
			want(t, a, "secret-42", "result", "task", "artifact", "parts", 0, "text")
		}},
	}
}

// serverRows are the rows about what the server does beside the skill.
func serverRows() []submitRow {
	return []submitRow{
		{number: 23, run: rowBoardsDown},
		{number: 30, run: func(t *testing.T, s *servertest.Server) {
			const key = "Idempotency-Key: k-1"
			p := listBoard(textPart("roadmap"))
			first := submit(t, s, p, key)
			again := submit(t, s, p, key)
			if taskID(first) != taskID(again) {
				t.Errorf("got task %s for the second try, want %s", taskID(again), taskID(first))
			}
			want(t, again, first.Get("result", "task", "createdAt"), "result", "task", "createdAt")
			a := s.RPC(call("tasks/submit", listBoard(textPart("platform"))), key)
			wantCode(t, a, -32602)
			want(t, a, "idempotency_conflict", "error", "data", "reason")
			// The key goes before the rule that the same taskId runs again.
			p = `{"taskId":"keyed","skillId":"list_workspaces"}`
			first = submit(t, s, p, "Idempotency-Key: k-2")
			again = submit(t, s, p, "Idempotency-Key: k-2")
			want(t, again, first.Get("result", "task", "artifact", "artifactId"), "result", "task", "artifact", "artifactId")
			want(t, again, first.Get("result", "task", "createdAt"), "result", "task", "createdAt")
		}},
		{number: 35, run: func(t *testing.T, _ *servertest.Server) {
			c := probe(t, func(cfg *configs.Config) { skill(t, cfg, "probe").Timeout = time.Second })
			p := func(text string) string { return `{"message":{"parts":[{"text":` + quote(text) + `}]}}` }
			checkFailed(t, submit(t, c.Server, p("@panic"), alice), "internal error", "internal")
			checkFailed(t, submit(t, c.Server, p("@hang"), alice), "skill timed out after 1s", "timeout")
			want(t, submit(t, c.Server, p("@echo still here"), alice), "completed", "result", "task", "status")
		}},
		{number: 36, run: func(t *testing.T, s *servertest.Server) {
			for body, code := range map[string]int{
				"": -32700, "hello": -32700, `{"jsonrpc":"2.0",`: -32700, `{"jsonrpc":"2.0","id":1,"method":"tasks/status"} x`: -32700,
				"[]": -32600, `[{"jsonrpc":"2.0","id":1,"method":"tasks/status","params":{"taskId":"x"}}]`: -32600,
				`{"jsonrpc":"1.0","id":1,"method":"tasks/status","params":{"taskId":"x"}}`: -32600,
				`{"id":1,"method":"tasks/status","params":{"taskId":"x"}}`:                 -32600,
				`{"jsonrpc":"2.0","id":1,"method":"tasks/delete","params":{}}`:             -32601,
				`{"jsonrpc":"2.0","id":1,"method":"tasks/submit","params":[]}`:             -32602,
				`{"jsonrpc":"2.0","id":1,"method":"tasks/submit","params":"x"}`:            -32602,
			} {
				wantCode(t, s.RPC(body), code)
			}
			a := s.RPC(call("tasks/submit", `{"pad":"`+strings.Repeat("x", 10<<20)+`"}`))
			if a.Status != http.StatusRequestEntityTooLarge {
				t.Errorf("got HTTP %d for a large body, want 413", a.Status)
			}
		}},
		{number: 37, run: func(t *testing.T, _ *servertest.Server) {
			c := probe(t, func(cfg *configs.Config) { cfg.Limits.Wait.EMM = 100 * time.Millisecond })
			p := func(text string) string { return `"message":{"parts":[{"text":` + quote(text) + `}]}}` }
			a := submit(t, c.Server, `{`+p("@sleep 0.5"), alice)
			want(t, a, "working", "result", "task", "status")
			c.until(taskID(a), "TASK_STATE_COMPLETED")
			for _, a := range []servertest.Answer{
				submit(t, c.Server, `{"blocking":false,`+p("@sleep 0.1"), alice),
				submit(t, c.Server, `{`+p("@sleep 0.1"), alice, "Prefer: respond-async"),
				submit(t, c.Server, `{`+p("@sleep 0.1"), alice, "Prefer: wait=5, respond-async"),
			} {
				want(t, a, "submitted", "result", "task", "status")
				c.until(taskID(a), "TASK_STATE_COMPLETED")
			}
		}},
	}
}

// rowBoardsDown is row 23: a source of boards that refuses, hangs or breaks.
func rowBoardsDown(t *testing.T, _ *servertest.Server) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + closed.Addr().String()
	_ = closed.Close()
	release := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer hanging.Close()
	defer close(release)
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "<html>secret inside</html>", http.StatusInternalServerError)
	}))
	defer broken.Close()
	for name, endpoint := range map[string]string{"refuses": nobody, "hangs": hanging.URL, "breaks": broken.URL} {
		for _, skillID := range []string{"list_board", "weekly_report"} {
			t.Run(name+"/"+skillID, func(t *testing.T) {
				s := plain(t, func(c *configs.Config) {
					c.Boards.Source = "lakefs"
					c.Boards.LakeFS.Endpoint, c.Boards.LakeFS.Repository = endpoint, "tasks"
					c.Boards.LakeFS.AccessKeyID, c.Boards.LakeFS.SecretAccessKey = "id", "the-secret"
					c.Boards.LakeFS.Timeout = 100 * time.Millisecond
				})
				a := submit(t, s, `{"skillId":"`+skillID+`","message":{"parts":[{"text":"roadmap"}]}}`)
				want(t, a, "failed", "result", "task", "status")
				want(t, a, "upstream_unavailable", "result", "task", "artifact", "parts", 1, "data", "code")
				for _, inside := range []string{"127.0.0.1", "secret", "dial", "lakefs.", "http://", "<html>"} {
					if strings.Contains(string(a.Body), inside) {
						t.Errorf("the answer has %q: %s", inside, a.Body)
					}
				}
			})
		}
	}
}
