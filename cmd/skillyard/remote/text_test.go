package remote

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/a2a"
)

func TestHarmless(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n\ttext 日本語👍":               "plain\n\ttext 日本語👍",
		"\x1b]0;title\a\x1b[2Jx\rover\b":   "]0;title[2Jxover",
		"\u009b31mred\u202egnp.exe\u2066a": "31mredgnp.exea",
		"bad\xffbyte":                      "bad\ufffdbyte",
	} {
		if got := harmless(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{" a \n\n b\t", 10, "a b"}, {"日本語", 3, "日本語"}, {"日本語だ", 3, "日本…"}, {"", 3, ""},
	} {
		if got := line(c.in, c.n); got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}

// TestWord: what an agent calls its tasks is pasted into a shell.
func TestWord(t *testing.T) {
	for in, want := range map[string]string{
		"0190c2b7-x_y.z": "0190c2b7-x_y.z", "": "''", "a b": "'a b'", "$(reboot)": "'$(reboot)'", "it's": `'it'\''s'`,
		"https://h/x?a=1&b=2": "'https://h/x?a=1&b=2'", "https://h:8080/x": "https://h:8080/x",
	} {
		if got := word(in); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func TestAge(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		-time.Hour: "0s", 0: "0s", 59 * time.Second: "59s", 61 * time.Second: "1m", 47 * time.Hour: "47h", 49 * time.Hour: "2d",
	} {
		if got := age(now, now.Add(-d)); got != want {
			t.Errorf("%s: got %s, want %s", d, got, want)
		}
	}
	if got := age(now, time.Time{}); got != "never" {
		t.Errorf("got %s", got)
	}
}

func TestParseAge(t *testing.T) {
	for in, want := range map[string]time.Duration{"30d": 720 * time.Hour, "90m": 90 * time.Minute, "0s": 0} {
		if got, err := parseAge(in); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", in, got, err, want)
		}
	}
	for _, in := range []string{"", "d", "-1h", "1.5d", "99999d", "week"} {
		if got, err := parseAge(in); err == nil {
			t.Errorf("%q: got %s, want an error", in, got)
		}
	}
}

func TestTable(t *testing.T) {
	var b strings.Builder
	rows := [][]cell{plain("A", "LONG HEAD", "C"), {{text: "日本"}, {"x", "32"}, {text: "\x1b[1mz\ny"}}, plain("", "y", "")}
	if err := table(&b, rows); err != nil {
		t.Fatal(err)
	}
	want := "A   LONG HEAD  C\n日本  \x1b[32mx\x1b[0m          [1mz y\n-   y          -\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestBlock_fits_the_terminal(t *testing.T) {
	now := time.Now()
	rows := []row{
		{name: "t1", state: "working", since: now.Add(-time.Minute), words: strings.Repeat("long words ", 20)},
		{name: "a-longer-id", state: "", since: now},
		{name: "t3", state: "completed", since: now, done: true},
	}
	for _, width := range []int{1, 20, 80, 300} {
		lines := block(rows, now, width)
		if len(lines) != len(rows) {
			t.Fatalf("got %d lines", len(lines))
		}
		for _, l := range lines {
			if utf8.RuneCountInString(l) > width {
				t.Errorf("width %d: %q is too long", width, l)
			}
		}
	}
	if got := block(rows, now, 80)[1]; got != "a-longer-id  sending           0s" {
		t.Errorf("got %q", got)
	}
}

func FuzzSafeName(f *testing.F) {
	for _, s := range []string{"a.txt", "../../x", `C:\x`, "con", "..", "", "\x1b[31m", "a\u202egnp.exe", strings.Repeat("x", 500), "-rf", "nul.tar.gz"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := safeName(name, "text/plain")
		switch {
		case got == "" || got == "." || got == "..",
			strings.ContainsAny(got, "/\\\x00:"),
			strings.HasPrefix(got, ".") || strings.HasPrefix(got, "-") || strings.HasSuffix(got, "."),
			strings.ContainsFunc(got, unicode.IsControl),
			utf8.RuneCountInString(got) > 130, !utf8.ValidString(got):
			t.Errorf("%q: got %q", name, got)
		}
		if again := safeName(got, "text/plain"); again != got {
			t.Errorf("%q: got %q, and %q of that", name, got, again)
		}
	})
}

func TestEnded_has_a_code_for_each_state(t *testing.T) {
	want := map[a2a.State]int{
		a2a.StateSubmitted: 8, a2a.StateWorking: 8, a2a.StateUnknown: 8, a2a.StateCompleted: 0, a2a.StateFailed: 3, a2a.StateRejected: 3,
		a2a.StateInputRequired: 4, a2a.StateCanceled: 5, a2a.StateAuthRequired: 7,
	}
	for _, s := range append(a2a.States(), a2a.StateUnknown) {
		code := 0
		if x, ok := ended(s).(*Exit); ok {
			code = x.Code
		}
		if code != want[s] {
			t.Errorf("%s: got %d, want %d", s, code, want[s])
		}
	}
}
