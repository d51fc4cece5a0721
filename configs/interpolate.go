package configs

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// maxSecretFile bounds a file that a value is read from, in bytes.
const maxSecretFile = 64 << 10

// interpolate resolves the references in text: ${NAME} is the environment
// variable NAME, which must be set; ${NAME:-default} is default when NAME is not
// set or empty; ${file:/path} is the file's content without the final line break.
// "$$" is a dollar sign. What a reference brings in is not looked at again.
func interpolate(text string, env map[string]string) (string, error) {
	if !strings.Contains(text, "$") {
		return text, nil
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "$")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		if after, ok := strings.CutPrefix(rest, "$"); ok {
			b.WriteByte('$')
			text = after
			continue
		}
		if !strings.HasPrefix(rest, "{") {
			b.WriteByte('$')
			text = rest
			continue
		}
		ref, after, closed := strings.Cut(rest[1:], "}")
		if !closed {
			return "", fmt.Errorf("%q has no closing brace; write $$ for a dollar sign", "${"+ref)
		}
		value, err := resolve(ref, env)
		if err != nil {
			return "", err
		}
		b.WriteString(value)
		text = after
	}
}

// resolve returns what the inside of ${…} stands for.
func resolve(ref string, env map[string]string) (string, error) {
	if path, ok := strings.CutPrefix(ref, "file:"); ok {
		return readSecretFile(path)
	}
	name, fallback, hasFallback := strings.Cut(ref, ":-")
	if !validName(name) {
		return "", fmt.Errorf("%q is not ${NAME}, ${NAME:-default} or ${file:/path}", "${"+ref+"}")
	}
	value, set := env[name]
	switch {
	case hasFallback && value == "":
		return fallback, nil
	case !set:
		return "", fmt.Errorf("environment variable %s is not set", name)
	}
	return value, nil
}

func validName(name string) bool {
	for i, r := range name {
		letter := r == '_' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

// readSecretFile returns a file's content without the final line break, as
// mounted secrets have one or not.
func readSecretFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // only read
	b, err := io.ReadAll(io.LimitReader(f, maxSecretFile+1))
	if err != nil {
		return "", err
	}
	if len(b) > maxSecretFile {
		return "", fmt.Errorf("%s is larger than %d bytes", path, maxSecretFile)
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}
