// Package configs is the configuration of a server: its shape, its defaults, and
// how it is read.
//
// Four layers, each overriding the one before: Default, a YAML file, environment
// variables, flags. The YAML is strict: an unknown key, a wrong type or a value
// out of range is a Problem with the key's path, its line and column, and the
// line itself with a caret. All problems of a file are reported together.
//
// Scalars may refer to the outside: ${NAME}, ${NAME:-default} and ${file:/path}.
// They are resolved after the YAML was parsed, so what they bring in can change a
// value but never the structure. Secrets have a type that prints as ***.
//
// The package knows no skill: the settings of a skill are kept as JSON for the
// skill's kind to read.
package configs
