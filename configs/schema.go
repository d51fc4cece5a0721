package configs

import _ "embed" // of the schema

// SchemaID is the $id of the schema.
const SchemaID = "https://github.com/skillyard/skillyard/configs/schema.json"

//go:embed schema.json
var schemaJSON string

// Schema returns the JSON Schema (draft 2020-12) of a configuration file, as
// indented JSON with a line break at the end. It is for editors: it accepts every
// file that Load accepts, and it does not see what values say together.
//
// It is made from the Go types and the comments of Example by this package's tests,
// which see to it that it is up to date.
func Schema() string { return schemaJSON }
