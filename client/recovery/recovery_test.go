package recovery_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
	. "github.com/skillyard/skillyard/client/clienttest"
	"github.com/skillyard/skillyard/client/pending"
	"github.com/skillyard/skillyard/client/recovery"
)

// page is a page of a list of tasks; mine has the message m1.
func page(next string, tasks ...string) Script {
	return JSON(`{"tasks":[` + strings.Join(tasks, ",") + `],"nextPageToken":"` + next + `"}`)
}

func listed(id, message string) string {
	return `{"id":"` + id + `","contextId":"c1","status":{"state":"TASK_STATE_WORKING"},"history":[{"messageId":"` + message + `","role":"ROLE_USER","parts":[{"text":"x"}]}]}`
}

const mute = `{"id":"t0","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}`

func TestFind(t *testing.T) {
	v1 := client.Interface{Dialect: client.DialectV1}
	keyed := client.Interface{Dialect: client.DialectV1, Idempotent: true}
	emm := client.Interface{Dialect: client.DialectEMM}
	old := client.Interface{Dialect: client.DialectV03}
	message, err := json.Marshal(client.Message{ID: "m1", Parts: []a2a.Part{a2a.TextPart("hi")}})
	if err != nil {
		t.Fatal(err)
	}
	working := JSON(Task("WORKING", ""))
	unknown := JSON(`{"status":"not_found"}`)
	words := JSON(`{"message":{"messageId":"m9","contextId":"c9","role":"ROLE_AGENT","parts":[{"text":"just words"}]}}`)
	for _, c := range []struct {
		name    string
		iface   client.Interface
		scripts map[string]Script
		entry   pending.Entry
		age     time.Duration
		want    recovery.Fate
		fault   client.Kind // instead of a fate
		calls   string
		never   bool // not even possible
	}{
		{name: "id, found", iface: emm, scripts: map[string]Script{"tasks/status": JSON(`{"task":{"id":"t1","status":"working"}}`)}, entry: pending.Entry{TaskID: "t1"}, want: recovery.Taken, calls: "tasks/status"},
		{name: "id, not yet", iface: emm, scripts: map[string]Script{"tasks/status": unknown}, entry: pending.Entry{TaskID: "t1"}, age: time.Minute, fault: client.KindTaskNotFound, calls: "tasks/status"},
		{name: "id, not taken", iface: emm, scripts: map[string]Script{"tasks/status": unknown}, entry: pending.Entry{TaskID: "t1"}, age: time.Hour, want: recovery.NotTaken, calls: "tasks/status"},
		{name: "key", iface: keyed, scripts: map[string]Script{"SendMessage": JSON(`{"task":` + Task("WORKING", "") + `}`)}, entry: pending.Entry{Key: "k", Message: message}, want: recovery.Taken, calls: "SendMessage"},
		{name: "key, words", iface: keyed, scripts: map[string]Script{"SendMessage": words}, entry: pending.Entry{Key: "k", Message: message}, want: recovery.Answered, calls: "SendMessage"},
		{name: "key, refused now", iface: keyed, scripts: map[string]Script{"SendMessage": HTTP(401, "text/plain", "who are you")}, entry: pending.Entry{Key: "k", Message: message}, fault: client.KindAuth, calls: "SendMessage"},
		{name: "key that may be forgotten", iface: keyed, scripts: map[string]Script{"ListTasks": page("")}, entry: pending.Entry{Key: "k", Message: message}, age: 25 * time.Hour, want: recovery.NotTaken, calls: "ListTasks"},
		{name: "key, and no message", iface: keyed, scripts: map[string]Script{"ListTasks": page("")}, entry: pending.Entry{Key: "k"}, want: recovery.Unsettled, calls: "ListTasks"},
		{name: "no promise to honour keys", iface: v1, scripts: map[string]Script{"ListTasks": page("")}, entry: pending.Entry{Key: "k", Message: message}, want: recovery.Unsettled, calls: "ListTasks"},
		{name: "list, found", iface: v1, scripts: map[string]Script{"ListTasks": page("", mute, listed("t0", "m0"), listed("t1", "m1")), "GetTask": working}, want: recovery.Taken, calls: "ListTasks GetTask"},
		{name: "list, not taken", iface: v1, scripts: map[string]Script{"ListTasks": page("", listed("t0", "m0"))}, age: time.Hour, want: recovery.NotTaken, calls: "ListTasks"},
		{name: "list without messages", iface: v1, scripts: map[string]Script{"ListTasks": page("", mute)}, age: time.Hour, want: recovery.Unsettled, calls: "ListTasks"},
		{name: "list without an end", iface: v1, scripts: map[string]Script{"ListTasks": page("more", listed("t0", "m0"))}, age: time.Hour, want: recovery.Unsettled, calls: strings.TrimSpace(strings.Repeat("ListTasks ", 20))},
		{name: "list, and the agent has none", iface: v1, scripts: nil, age: time.Hour, want: recovery.Unknowable, calls: "ListTasks"},
		{name: "no way", iface: old, scripts: nil, age: time.Hour, want: recovery.Unknowable, never: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := New(t, By(c.scripts))
			c.iface.URL = a.URL
			how, err := json.Marshal(c.iface)
			if err != nil {
				t.Fatal(err)
			}
			e := c.entry
			e.AgentURL, e.MessageID, e.Interface, e.CreatedAt = a.URL, "m1", how, time.Now().Add(-c.age)
			if got := recovery.Possible(e); got != !c.never {
				t.Errorf("possible: got %t, want %t", got, !c.never)
			}
			cl, err := client.New(a.URL, client.Options{Interface: &c.iface, Retry: client.Retry{Max: -1}})
			if err != nil {
				t.Fatal(err)
			}
			defer cl.Close()
			resent := false
			got, err := recovery.Find(t.Context(), cl, e, func() { resent = true })
			if got.Fate != c.want || client.KindOf(err) != c.fault {
				t.Errorf("got %q, %v, want %q, %q", got.Fate, err, c.want, c.fault)
			}
			if (got.Task != nil && got.Task.ID == "t1") != (c.want == recovery.Taken) {
				t.Errorf("got the task %+v", got.Task)
			}
			if (got.Message.Text() == "just words" && got.ContextID == "c9") != (c.want == recovery.Answered) {
				t.Errorf("got %+v in the context %s", got.Message, got.ContextID)
			}
			var calls []string
			for _, r := range a.Requests() {
				calls = append(calls, r.RPC())
				if r.RPC() == "SendMessage" && (r.Header.Get("Idempotency-Key") != "k" || !strings.Contains(string(r.Body), `"m1"`)) {
					t.Errorf("sent again as another message: %v %s", r.Header, r.Body)
				}
			}
			if got := strings.Join(calls, " "); got != c.calls || resent != (got == "SendMessage") {
				t.Errorf("got the calls %s, resent %t, want %s", got, resent, c.calls)
			}
		})
	}
}

// TestFind_unreachable: nothing is known of the send when the agent cannot be asked now.
func TestFind_unreachable(t *testing.T) {
	cl, err := client.New("http://127.0.0.1:1", client.Options{Retry: client.Retry{Max: -1}})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	got, err := recovery.Find(t.Context(), cl, pending.Entry{MessageID: "m1"}, nil)
	if client.KindOf(err) != client.KindUnreachable || got.Fate != "" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestPossible_unknown: an entry of a newer program promises nothing.
func TestPossible_unknown(t *testing.T) {
	for _, how := range []string{"", "[]", `{"dialect":"2.0"}`} {
		if recovery.Possible(pending.Entry{MessageID: "m1", TaskID: "t1", Key: "k", Interface: json.RawMessage(how), CreatedAt: time.Now()}) {
			t.Errorf("%q: got possible", how)
		}
	}
}
