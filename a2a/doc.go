// Package a2a is Skillyard's one vocabulary: tasks, messages, parts, artifacts,
// events, operations and errors of the Agent2Agent protocol, without any
// version's spelling of them.
//
// No other package defines one of these notions. The wire dialects translate
// to and from this package, the store keeps it, the engine works on it. The
// package imports the standard library only and does no I/O.
//
// The JSON tags here are the stored form, not a wire form: clients only ever
// see what package wire writes.
package a2a
