package pending

import (
	"encoding/json"
	"testing"

	"github.com/skillyard/skillyard/a2a"
)

// TestRegistry_Message: what was sent is kept just as long as it may have to be sent
// again.
func TestRegistry_Message(t *testing.T) {
	message := json.RawMessage(`{"text":"hi"}`)
	for name, end := range map[string]func(*Registry, string) error{
		"accepted": func(r *Registry, ref string) error {
			_, err := r.Accepted(t.Context(), ref, &a2a.Task{ID: "t1", Status: a2a.Status{State: a2a.StateWorking}}, nil)
			return err
		},
		"answered": func(r *Registry, ref string) error {
			_, err := r.Answered(t.Context(), ref, a2a.AgentText("m", "yes"), "")
			return err
		},
		"rejected": func(r *Registry, ref string) error {
			_, err := r.Rejected(t.Context(), ref, "no")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Open(t.Context(), Options{Path: t.TempDir() + "/r.db"})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			e, err := r.Begin(t.Context(), Entry{AgentURL: "http://a", Message: message})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Failed(t.Context(), e.Ref, "the connection broke"); err != nil {
				t.Fatal(err)
			}
			if got, err := r.Get(t.Context(), e.Ref); err != nil || string(got.Message) != string(message) {
				t.Fatalf("while sending: got %s, %v", got.Message, err)
			}
			if list, err := r.Pending(t.Context(), Filter{}); err != nil || len(list) != 1 || list[0].Message != nil {
				t.Errorf("in a list: got %+v, %v", list, err)
			}
			if err := end(r, e.Ref); err != nil {
				t.Fatal(err)
			}
			if got, err := r.Get(t.Context(), e.Ref); err != nil || got.Message != nil {
				t.Errorf("later: got %s, %v", got.Message, err)
			}
		})
	}
}
