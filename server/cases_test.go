package server_test

import (
	"slices"
	"strings"
	"testing"
)

// bugCase is a public bug report of this field, as a test: what went wrong
// elsewhere must not go wrong here.
type bugCase struct {
	id, title string
	run       func(*testing.T)
}

// TestCases runs the cases that concern a server and need nothing but HTTP.
func TestCases(t *testing.T) {
	for _, c := range allCases() {
		t.Run(c.id+"_"+c.title, c.run)
	}
}

func allCases() []bugCase {
	return slices.Concat(cardCases(), extensionCases(), signedCases(), dialectCases(), envelopeCases(), inputCases(), endingCases(), cancelCases(), turnCases(), ownerCases(), pagingCases(), pushCases(), guardCases(), frameCases(), streamCases(), pressureCases(), restCases())
}

// covered are the cases that tests of this package show which have more to show.
var covered = map[string]func(*testing.T){
	"B-068": TestStream_heartbeat,
	"B-082": TestStream_pause_v1,
	"B-083": TestStream_pause_v1,
	"B-173": TestStream_resume,
	"B-148": TestStream_slow_reader,
	"B-151": TestLimit_Rates,
	"B-152": TestStream_stop,
}

// elsewhere are the cases of the same kinds that this file does not test, and why.
var elsewhere = map[string]string{
	"B-007": "client and gateway only: where a client looks for a card",
	"B-013": "gateway only: cards of remote agents",
	"B-014": "client and gateway only: reading cards of both versions",
	"B-016": "client only: URL of a card given by a user",
	"B-169": "client and gateway only: cache of fetched cards",
	"B-170": "gateway only: cache of fetched cards",
	"B-040": "client only: id of an answer",
	"B-041": "client only: version of an answer",
	"B-046": "needs a skill that fails with a typed error in the middle of a stream",
	"B-097": "gateway only: finish reasons of language models",
	"B-067": "client and gateway only: comments and empty events in a stream",
	"B-071": "client and gateway only: characters that are cut by a read",
	"B-076": "client only: a plain answer to a streaming call",
	"B-077": "client only: an error in the middle of a stream",
	"B-088": "client and gateway only: a task that ended while the client was away",
	"B-089": "client only: a stream that is cut before its end",
	"B-130": "client and gateway only: where cards are fetched from",
	"B-131": "client and gateway only: redirects of calls",
	"B-104": "two processes on one database: refused for SQLite (see the durable tests); see taskstore/storetest for concurrent writers",
	"B-112": "gateway only: ids of a remote agent",
	"B-113": "client and gateway only: the id of a finished task",
	"B-140": "no skill here appends to an artifact that was never begun: see a2a.Task.Apply",
	"B-145": "kill -9: see the durable tests",
	"B-146": "gateway only: a restart between caller and remote agent",
	"B-176": "time zone of the process: see the durable tests",
}

// caseIDs are all cases of the kinds discovery, dialects, envelope, input, frames of
// streams, life of streams, never-ending tasks, cancel, multi-turn, push, outbound
// safety, authorisation, durability and limits.
const caseIDs = `
B-001 B-002 B-004 B-005 B-007 B-008 B-010 B-011 B-013 B-014 B-016 B-017 B-019 B-020 B-169 B-170
B-022 B-023 B-025 B-026 B-028 B-029 B-031 B-032 B-034 B-035
B-037 B-038 B-040 B-041 B-043 B-044 B-046 B-047 B-049 B-050 B-052 B-053
B-055 B-056 B-058 B-059 B-061 B-062 B-064 B-065 B-172
B-067 B-068 B-070 B-071 B-073 B-074 B-076 B-077
B-079 B-080 B-082 B-083 B-085 B-086 B-088 B-089 B-173
B-091 B-092 B-094 B-095 B-097
B-098 B-100 B-101 B-103 B-104
B-106 B-107 B-109 B-110 B-112 B-113 B-115 B-116
B-118 B-119 B-121 B-122 B-124 B-125
B-127 B-128 B-130 B-131
B-133 B-134 B-136 B-137
B-139 B-140 B-142 B-143 B-145 B-146 B-175 B-176
B-148 B-149 B-151 B-152`

// TestCases_Complete: no case is forgotten, and none is both tested and excused.
func TestCases_Complete(t *testing.T) {
	tested := map[string]bool{}
	for _, c := range allCases() {
		if tested[c.id] {
			t.Errorf("%s is there twice", c.id)
		}
		tested[c.id] = true
	}
	for id := range covered {
		if tested[id] {
			t.Errorf("%s is there twice", id)
		}
		tested[id] = true
	}
	for _, id := range strings.Fields(caseIDs) {
		if _, excused := elsewhere[id]; excused == tested[id] {
			t.Errorf("%s: tested %t, excused %t; want one of them", id, tested[id], excused)
		}
		delete(tested, id)
	}
	for id := range tested {
		t.Errorf("%s is not in the list of cases", id)
	}
}
