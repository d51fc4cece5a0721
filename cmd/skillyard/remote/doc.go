// Package remote is the commands that use A2A agents elsewhere: send work and get the
// task's id at once, go on, and collect the result later, from any process.
//
//	send, reply                begin something
//	poll, watch, get           ask what became of it
//	cancel                     end it
//	pending, history, list     what there is: not collected yet, collected, at the agent
//
// Each command has a file of its own; a session is one command under way. What was sent
// is written into the pending registry before the request is on the wire, so that a
// process that is killed at any point leaves an entry that says what is known.
//
// Results go to standard output, everything said to people to standard error. What an
// agent says never reaches a terminal with control characters in it.
package remote
