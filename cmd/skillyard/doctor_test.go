package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skillyard/skillyard/client/doctor"
)

func TestReportText(t *testing.T) {
	headers := doctor.Fix{Proxy: "nginx", Where: "in the location", Lines: []string{"a on;", "b on;"}}
	r := &doctor.Report{
		URL: "https://agents.example.com", Agent: "Agent 1", Proxy: "nginx", Verdict: doctor.Fault,
		Findings: []doctor.Finding{
			{Check: "connection", Severity: doctor.OK, Text: "HTTP/2"},
			{Check: "card urls", Severity: doctor.Fail, Text: "wrong", Hint: "mend it", Fixes: []doctor.Fix{headers}},
			{Check: "grpc", Severity: doctor.Skipped, Text: "no card"},
			{Check: "slash", Severity: doctor.Skipped, Text: "no card"},
			{Check: "body", Severity: doctor.Warn, Text: "small", Fixes: []doctor.Fix{
				headers,
				{Proxy: "nginx", Where: "in the location", Lines: []string{"b on;", "c on;"}},
				{Proxy: "nginx", Where: "beside", Lines: []string{"location = /x {", "    p;", "}", "location = /x/ {", "    p;", "}"}},
			}},
		},
	}
	want := `https://agents.example.com  Agent 1, behind nginx

ok    connection  HTTP/2
fail  card urls   wrong
                  → mend it
skip  grpc        no card (so too 1 more)
warn  body        small

1 fault, 1 warning, 2 checks skipped.

For nginx, in the location:

    a on;
    b on;
    c on;

For nginx, beside:

    location = /x {
        p;
    }
    location = /x/ {
        p;
    }
`
	if diff := cmp.Diff(want, reportText(r, false)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	short := &doctor.Report{URL: "u", Verdict: doctor.Timeout, Findings: []doctor.Finding{{Check: "c", Severity: doctor.Fail, Text: "t"}}}
	want = "u\n\n\x1b[31mfail\x1b[0m  c  t\n\n1 fault, 0 warnings, 0 checks skipped. There was not enough time.\n"
	if diff := cmp.Diff(want, reportText(short, true)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
