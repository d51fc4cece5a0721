package taskmanager

import "embed"

//go:embed schemas/*.json
var schemas embed.FS

// Schemas returns the JSON Schemas of an operation's data: what it takes, and what it
// gives; nil for an unknown operation.
func Schemas(operation string) (input, output []byte) {
	// The only error is that there is no such file.
	input, _ = schemas.ReadFile("schemas/" + operation + ".input.json")
	output, _ = schemas.ReadFile("schemas/" + operation + ".output.json")
	return input, output
}
