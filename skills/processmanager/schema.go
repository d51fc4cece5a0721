package processmanager

import _ "embed"

var (
	//go:embed schemas/weekly_report.input.json
	inputSchema string
	//go:embed schemas/weekly_report.output.json
	outputSchema string
)

// Schemas returns the JSON Schemas of the data that weekly_report takes and gives.
func Schemas() (input, output []byte) { return []byte(inputSchema), []byte(outputSchema) }
