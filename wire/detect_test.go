package wire

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillyard/skillyard/a2a"
)

func TestDialects_Detect(t *testing.T) {
	const (
		emm, v03, v1 = NameEMM, NameV03, NameV1
		unknown      = string(a2a.CodeMethodNotFound)
		version      = string(a2a.CodeVersionNotSupported)
	)
	for _, tc := range []struct {
		method, version, want string
		errorsIn              string // dialect of an error
	}{
		{"SendMessage", "1.0", v1, ""},
		{"SendMessage", "1.0.1", v1, ""},
		{"SendMessage", " 1.0 ", v1, ""},
		{"SendMessage", "", v1, ""},
		{"SendMessage", "0.3", unknown, v03},
		{"SendMessage", "1.1", version, v1},
		{"message/send", "", v03, ""},
		{"message/send", "0.3", v03, ""},
		{"message/send", "0.3.0", v03, ""},
		{"message/send", "1.0", unknown, v1},
		{"tasks/get", "", v03, ""},
		{"tasks/cancel", "0.3", v03, ""},
		{"tasks/get", "1.0", unknown, v1},
		{"tasks/submit", "", emm, ""},
		{"tasks/submit", "1.0", emm, ""},
		{"tasks/status", "0.3", emm, ""},
		{"tasks/submit", "99.0", version, v1},
		{"agent/getAuthenticatedExtendedCard", "", v03, ""},
		{"tasks/send", "", NameV01, ""},
		{"tasks/sendSubscribe", "", NameV01, ""},
		{"tasks/pushNotification/set", "0.3", NameV01, ""},
		{"tasks/pushNotification/get", "", NameV01, ""},
		{"tasks/pushNotification/delete", "", unknown, v03},
		{"tasks/send", "1.0", NameV01, ""},
		{"tasks/send", "99.0", version, v1},
		{"tasks/resubscribe", "", v03, ""},
		{"foo", "", unknown, v1},
		{"sendmessage", "1.0", unknown, v1},
		{"", "", unknown, v1},
		{"SendMessage", "0.5", version, v1},
		{"foo", "2.0", version, v1},
		{"message/send", "99.0", version, v1},
		{"SendMessage", "1", version, v1},
		{"SendMessage", "v1.0", version, v1},
		{"SendMessage", "1.0.0.0", version, v1},
		{"SendMessage", "1.", version, v1},
		{"SendMessage", "1.0.x", version, v1},
		{"SendMessage", "1,0", version, v1},
		{"SendMessage", "01.0", version, v1},
		{"SendMessage", "\x00", version, v1},
	} {
		d, m, e := New(Options{}).Detect(tc.method, tc.version)
		got, errorsIn := d.Name, ""
		if e != nil {
			got, errorsIn = string(e.Code), d.Name
		} else if m.Op == "" || m.Decode == nil {
			t.Errorf("Detect(%q, %q): method without operation or decoder", tc.method, tc.version)
		}
		if got != tc.want || errorsIn != tc.errorsIn {
			t.Errorf("Detect(%q, %q): got %s (errors in %q), want %s (%q)", tc.method, tc.version, got, errorsIn, tc.want, tc.errorsIn)
		}
	}
}

func TestDialects_Detect_strict(t *testing.T) {
	d := New(Options{StrictVersion: true})
	if _, _, e := d.Detect("SendMessage", ""); e == nil || e.Code != a2a.CodeVersionNotSupported {
		t.Errorf("1.0 method without version: got %v, want version_not_supported", e)
	}
	for _, call := range [][2]string{{"SendMessage", "1.0"}, {"message/send", ""}, {"tasks/submit", ""}} {
		if _, _, e := d.Detect(call[0], call[1]); e != nil {
			t.Errorf("%v: got %v, want no error", call, e)
		}
	}
}

func TestDialects_Detect_errorsNameTheChoices(t *testing.T) {
	_, _, e := New(Options{}).Detect("foo", strings.Repeat("9", 5000))
	if !strings.Contains(e.Message, "0.3, 1.0") || e.Details["supportedVersions"] != "0.3, 1.0" || len(e.Message) > 200 {
		t.Errorf("got %q %v, want the supported versions in a short message", e.Message, e.Details)
	}
	for version, want := range map[string]struct{ has, hasNot string }{
		"":    {"tasks/submit", "tasks/list"},
		"0.3": {"message/send", "SendMessage"},
		"1.0": {"SendMessage", "message/send"},
	} {
		_, _, e := New(Options{}).Detect("foo", version)
		if list := e.Details["methods"]; !strings.Contains(list, want.has) || strings.Contains(list, want.hasNot) {
			t.Errorf("version %q: got methods %s, want %s and not %s", version, list, want.has, want.hasNot)
		}
	}
}

func TestDialects_ByName(t *testing.T) {
	d := New(Options{})
	if d.ByName(NameV03) != d.V03 || d.ByName(NameEMM) != d.EMM || d.ByName(NameV1) != d.V1 || d.ByName(NameV01) != d.V01 || d.ByName("0.2") != nil {
		t.Error("ByName does not find the dialects by their names")
	}
}

// TestDialects_Methods checks the tables: who decodes and who answers.
func TestDialects_Methods(t *testing.T) {
	for _, d := range New(Options{}).All() {
		for name, m := range d.Methods {
			if m.Decode == nil {
				t.Errorf("%s has no decoder", name)
			}
			answers := m.Op != a2a.OpStream && m.Op != a2a.OpSubscribe && m.Op != a2a.OpExtendedCard
			if (m.Append != nil) != answers {
				t.Errorf("%s (%s): encoder is %v, want %v", name, m.Op, m.Append != nil, answers)
			}
			if (m.NotFound != nil) != (name == "tasks/status") {
				t.Errorf("%s: only tasks/status has an answer for an unknown task", name)
			}
		}
	}
}

// TestDialects_All: what a dialect has to have so that it is served: methods that are
// found by their names, a version of its own or any, and goldens of the requests it reads.
func TestDialects_All(t *testing.T) {
	d := New(Options{})
	names := map[string]bool{}
	for _, x := range d.All() {
		if names[x.Name] || d.ByName(x.Name) != x {
			t.Errorf("%s: there are two of the name", x.Name)
		}
		names[x.Name] = true
		for name, m := range x.Methods {
			got, found, err := d.Detect(name, x.Version)
			shared := x == d.V01 && d.V03.Methods[name].Op != "" // the task chooses, see Shape
			if err != nil || found.Op != m.Op || got != x && !shared {
				t.Errorf("%s %s: got %s of %v, %v", x.Name, name, found.Op, got.Name, err)
			}
		}
		dir := map[string]string{NameEMM: "emm", NameV01: "v01", NameV03: "v03", NameV1: "v1"}[x.Name]
		if goldens, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar")); err != nil || dir == "" || len(goldens) < len(x.Methods) {
			t.Errorf("%s: got %d goldens in %q, %v; want some of each method", x.Name, len(goldens), dir, err)
		}
	}
}
