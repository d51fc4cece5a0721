package server_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// kitReport is what interop/tck.sh collected from the reports of the kits. A result
// is "pass", "FAIL", "skipped" or "expected failure", maybe with the number of a run
// behind it.
type kitReport struct {
	Measured, Skillyard string
	Kits                map[string]string
	Requirements        []struct {
		ID, Level string
		Results   map[string]string
	}
	Failures []struct { // tests of the kit of 1.0
		Run  int
		Test string
	}
	Tests []kitTest
}

type kitTest struct {
	Category, Test string
	Results        map[string]string
	Why            []string
}

// kitNotes are the words for single rows of the tables, by requirement and by test,
// and for the failures of tests of the kit of 1.0.
type kitNotes struct{ Requirements, Failures, Tests map[string]string }

const conformanceDoc = "../docs/conformance.md"

// TestConformance_Document: the tables of docs/conformance.md are those of the last
// run of the kits and of the tests that are here now. Failures are explained, and
// what nobody tests as well.
func TestConformance_Document(t *testing.T) {
	var report kitReport
	var notes kitNotes
	decodeFile(t, "../interop/tck/results.json", &report)
	decodeFile(t, "../interop/tck/notes.json", &notes)
	own := ownTests(t)
	doc, err := os.ReadFile(conformanceDoc)
	if err != nil {
		t.Fatal(err)
	}
	got := string(doc)
	for name, text := range map[string]string{
		"summary": report.summary(own, notes), "requirements": report.requirements(own, notes), "tests": report.tests(notes),
	} {
		got = between(t, got, name, text)
	}
	if *update {
		if err := os.WriteFile(conformanceDoc, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if d := cmp.Diff(string(doc), got); d != "" {
		t.Errorf("docs/conformance.md is not what the reports say; go test ./server -run TestConformance_Document -update writes it (-is +want):\n%s", d)
	}

	ids := map[string]bool{}
	for _, r := range report.Requirements {
		ids[r.ID] = true
		switch {
		case notes.Requirements[r.ID] != "":
		case failing(r.Results):
			t.Errorf("%s fails, and notes.json does not say why", r.ID)
		case !passing(r.Results) && own[r.ID] == "":
			t.Errorf("%s has neither a test of the kit nor of ours, and notes.json does not say why", r.ID)
		}
	}
	for id := range own {
		if !ids[id] {
			t.Errorf("%s is tested here and no requirement of the kit", id)
		}
	}
	names := map[string]bool{}
	for _, f := range report.Failures {
		names[f.Test] = true
		if notes.Failures[f.Test] == "" {
			t.Errorf("%s fails in run %d, and notes.json does not say why", f.Test, f.Run)
		}
	}
	for name := range notes.Failures {
		if !names[name] {
			t.Errorf("notes.json explains why %s fails, which does not", name)
		}
	}
	for _, test := range report.Tests {
		names[test.Test] = true
		if failing(test.Results) && notes.Tests[test.Test] == "" {
			t.Errorf("%s fails, and notes.json does not say why", test.Test)
		}
	}
	for id := range notes.Requirements {
		if !ids[id] {
			t.Errorf("notes.json speaks of %s, which the kit does not know", id)
		}
	}
	for name := range notes.Tests {
		if !names[name] {
			t.Errorf("notes.json speaks of %s, which the kit does not know", name)
		}
	}
}

func decodeFile(t *testing.T, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// between replaces what stands between the marks of a name.
func between(t *testing.T, doc, name, text string) string {
	t.Helper()
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->\n"
	head, rest, ok := strings.Cut(doc, begin)
	_, tail, found := strings.Cut(rest, end)
	if !ok || !found {
		t.Fatalf("%s has no %s…%s", conformanceDoc, begin, end)
	}
	return head + begin + text + end + tail
}

var requirementID = regexp.MustCompile(`^(HTTP_JSON|[A-Z]+)(-[A-Z]+)+-\d+[a-z]?\b`)

// ownTests are the names of our tests by the requirements that they are for, which
// are in their names or in those of their parts.
func ownTests(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("conformance*_test.go")
	if err != nil || len(paths) == 0 {
		t.Fatalf("got files %v, %v", paths, err)
	}
	own := map[string]string{}
	add := func(id, name string) {
		if name = "`" + name + "`"; own[id] == "" {
			own[id] = name
		} else if !strings.Contains(own[id], name) {
			own[id] += ", " + name
		}
	}
	for _, path := range paths {
		file, err := parser.ParseFile(gotoken.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(f.Name.Name, "TestConformance_") {
				continue
			}
			name := strings.ReplaceAll(strings.TrimPrefix(f.Name.Name, "TestConformance_"), "_", "-")
			if id := strings.Replace(name, "HTTP-JSON", "HTTP_JSON", 1); requirementID.MatchString(id) {
				add(id, f.Name.Name)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == gotoken.STRING {
					if s, err := strconv.Unquote(lit.Value); err == nil && requirementID.MatchString(s) {
						add(requirementID.FindString(s), f.Name.Name)
					}
				}
				return true
			})
		}
	}
	return own
}

func passing(results map[string]string) bool { return has(results, "pass") }
func failing(results map[string]string) bool { return has(results, "FAIL") }

func has(results map[string]string, prefix string) bool {
	for _, r := range results {
		if strings.HasPrefix(r, prefix) {
			return true
		}
	}
	return false
}

func (r *kitReport) summary(own map[string]string, notes kitNotes) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s with Skillyard %s.\n\n| kit | commit | transport | result |\n|---|---|---|---|\n", r.Measured, r.Skillyard)
	var pass, fail, ours, untested int
	for _, q := range r.Requirements {
		switch {
		case failing(q.Results):
			fail++
		case passing(q.Results):
			pass++
		case own[q.ID] != "":
			ours++
		default:
			untested++
		}
	}
	fmt.Fprintf(&b, "| a2a-tck, branch `1.0-dev` | `%s` | JSON-RPC, HTTP+JSON and gRPC together | **%s**: of %d requirements %d pass; of those without a test of the kit that ran, %d pass in tests of ours and %d are not tested |\n",
		r.Kits["1.0"], failures(fail), len(r.Requirements), pass, ours, untested)
	for _, transport := range []string{"jsonrpc", "rest", "grpc", "all"} {
		count := map[string]int{}
		total, why := 0, ""
		for _, test := range r.Tests {
			if result := test.Results[transport]; result != "" {
				count[result]++
				total++
				if result == "FAIL" {
					why += " (" + notes.Tests[test.Test] + ")"
				}
			}
		}
		if total > 0 {
			fmt.Fprintf(&b, "| a2a-tck, branch `0.3.x` | `%s` | %s | **%s**%s: of %d tests %d pass, %d are skipped, %d expected to fail |\n",
				r.Kits["0.3"], transportNames[transport], failures(count["FAIL"]), why, total, count["pass"], count["skipped"], count["expected failure"])
		}
	}
	for _, f := range r.Failures {
		fmt.Fprintf(&b, "\nThe test `%s` of 1.0 fails in run %d: %s.\n", f.Test, f.Run, notes.Failures[f.Test])
	}
	return b.String()
}

var transportNames = map[string]string{"jsonrpc": "JSON-RPC", "rest": "HTTP+JSON", "grpc": "gRPC", "all": "all at once"}

func failures(n int) string {
	switch n {
	case 0:
		return "no failures"
	case 1:
		return "1 failure"
	}
	return strconv.Itoa(n) + " failures"
}

// cell is a result in a table; where there is none there is a dash.
func cell(results map[string]string, transport string) string {
	if r := results[transport]; r != "" {
		return r
	}
	return "–"
}

func (r *kitReport) requirements(own map[string]string, notes kitNotes) string {
	var b strings.Builder
	b.WriteString("| id | level | card | JSON-RPC | HTTP+JSON | gRPC | ours | note |\n|---|---|---|---|---|---|---|---|\n")
	for _, q := range r.Requirements {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", q.ID, q.Level, cell(q.Results, "agent_card"),
			cell(q.Results, "jsonrpc"), cell(q.Results, "http_json"), cell(q.Results, "grpc"), own[q.ID], notes.Requirements[q.ID])
	}
	return b.String()
}

func (r *kitReport) tests(notes kitNotes) string {
	var b strings.Builder
	transports := []string{"jsonrpc", "rest"}
	if slices.ContainsFunc(r.Tests, func(test kitTest) bool { return test.Results["grpc"] != "" }) {
		transports = append(transports, "grpc")
	}
	b.WriteString("| test | category |")
	for _, transport := range transports {
		b.WriteString(" " + transportNames[transport] + " |")
	}
	b.WriteString(" note |\n|---|---|" + strings.Repeat("---|", len(transports)) + "---|\n")
	for _, test := range r.Tests {
		fmt.Fprintf(&b, "| %s | %s |", test.Test, test.Category)
		for _, transport := range transports {
			if all := test.Results["all"]; all != "" {
				fmt.Fprintf(&b, " %s |", all)
			} else {
				fmt.Fprintf(&b, " %s |", cell(test.Results, transport))
			}
		}
		var why []string
		for _, reason := range test.Why {
			why = append(why, "“"+reason+"”")
		}
		if note := notes.Tests[test.Test]; note != "" {
			why = append(why, note)
		}
		fmt.Fprintf(&b, " %s |\n", strings.ReplaceAll(strings.Join(why, "; "), "|", "\\|"))
	}
	return b.String()
}
