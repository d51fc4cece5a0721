package remote

import (
	"bytes"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillyard/skillyard/a2a"
	"github.com/skillyard/skillyard/client"
	"github.com/skillyard/skillyard/client/clienttest"
	"github.com/skillyard/skillyard/client/pending"
	"github.com/skillyard/skillyard/client/recovery"
)

// open returns a session and an entry whose send was never answered.
func open(t *testing.T, agentURL string, e pending.Entry) (*session, pending.Entry) {
	t.Helper()
	var out, errOut bytes.Buffer
	path := filepath.Join(t.TempDir(), "r.db")
	s := &session{
		Shell:   Shell{Out: &out, Err: &errOut, Env: map[string]string{}, StateFileFunc: func(string) (string, error) { return path, nil }},
		clients: map[string]*client.Client{},
	}
	if err := s.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	e.AgentURL, e.MessageID = agentURL, "m1"
	e, err := s.registry.Begin(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return s, e
}

// TestRecover_is_sure_before_it_gives_up: an entry ends as not sent only if the agent had
// the time to take the message, and shows what it took.
func TestRecover_is_sure_before_it_gives_up(t *testing.T) {
	other := `{"id":"t0","contextId":"c","status":{"state":"TASK_STATE_WORKING"},"history":[{"messageId":"m0","role":"ROLE_USER","parts":[{"text":"x"}]}]}`
	mute := `{"id":"t0","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}`
	for _, c := range []struct {
		name, tasks string
		age         time.Duration
		ends        bool
	}{
		{"young", "", time.Minute, false},
		{"old", "", time.Hour, true},
		{"old, and others", other, time.Hour, true},
		{"old, and a task without messages", mute + "," + other, time.Hour, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := clienttest.New(t, clienttest.By(map[string]clienttest.Script{"ListTasks": clienttest.JSON(`{"tasks":[` + c.tasks + `],"nextPageToken":""}`)}))
			s, e := open(t, a.URL, pending.Entry{})
			e.CreatedAt = e.CreatedAt.Add(-c.age)
			tk, err := s.taskOf(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.recover(t.Context(), tk); err == nil {
				t.Error("got no error")
			}
			got, err := s.registry.Get(t.Context(), e.Ref)
			if err != nil || got.Ended() != c.ends {
				t.Errorf("got %+v, %v, want ended %t", got, err, c.ends)
			}
		})
	}
}

// TestRecover_forgets_old_keys: a message is not sent again under a key that the agent may
// have forgotten.
func TestRecover_forgets_old_keys(t *testing.T) {
	a := clienttest.New(t, clienttest.By(nil))
	s, e := open(t, a.URL, pending.Entry{
		Key: "k", Message: []byte(`{}`),
		Interface: marshalInterface(client.Interface{URL: a.URL, Dialect: client.DialectV1, Idempotent: true}),
	})
	e.CreatedAt = e.CreatedAt.Add(-recovery.KeyLife)
	tk, err := s.taskOf(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.recover(t.Context(), tk); err == nil {
		t.Error("got no error")
	}
	for _, r := range a.Requests() {
		if r.RPC() == "SendMessage" {
			t.Error("the message was sent again")
		}
	}
}

// TestView_is_quiet_when_nothing_changes: in a pipe there is a line for each change and
// none for time.
func TestView_is_quiet_when_nothing_changes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := &session{Shell: Shell{Out: &out}}
		rows := []row{{name: "t1", since: time.Now()}}
		v := s.newView(rows)
		changes := make(chan func())
		go func() {
			defer close(changes)
			<-time.After(time.Hour)
			changes <- func() { rows[0].state = string(a2a.StateWorking); v.changed(&rows[0]) }
			<-time.After(time.Hour)
			changes <- func() { rows[0].done = true; v.changed(&rows[0]) }
		}()
		v.run(changes)
		if got := out.String(); got != "t1\tworking\t\n" {
			t.Errorf("got %q", got)
		}
	})
}
