package wire

import (
	"bytes"
	"encoding/json"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"
)

// This file works on raw JSON values that are known to be valid. Fed with
// anything else it may give nonsense, but it never reads out of bounds.

// deeperThan reports whether raw nests objects and arrays more than max deep.
func deeperThan(raw []byte, max int) bool {
	if bytes.Count(raw, []byte{'{'})+bytes.Count(raw, []byte{'['}) <= max {
		return false
	}
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = stringEnd(raw, i) - 1
		case '{', '[':
			if depth++; depth > max {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// stringEnd returns the index behind the string that starts at raw[start].
func stringEnd(raw []byte, start int) int {
	for i := start + 1; ; {
		n := bytes.IndexByte(raw[i:], '"')
		if n < 0 {
			return len(raw)
		}
		i += n + 1
		escapes := 0
		for raw[i-2-escapes] == '\\' && i-2-escapes > start {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
}

// valueEnd returns the index behind the value that starts at raw[i].
func valueEnd(raw []byte, i int) int {
	depth := 0
	for i < len(raw) {
		switch raw[i] {
		case '"':
			i = stringEnd(raw, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\t', '\r', '\n':
			if i++; depth > 0 {
				continue
			}
			return i - 1
		default:
			for i < len(raw) && bytes.IndexByte([]byte(",:]} \t\r\n"), raw[i]) < 0 {
				i++
			}
		}
		if depth <= 0 {
			return i
		}
	}
	return len(raw)
}

func skipSpace(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\t' || raw[i] == '\r' || raw[i] == '\n') {
		i++
	}
	return i
}

// eachMember calls f with the quoted name and the value of each member of the
// object raw. It does nothing if raw is no object.
func eachMember(raw []byte, f func(name, value []byte)) {
	i := skipSpace(raw, 0)
	if i >= len(raw) || raw[i] != '{' {
		return
	}
	for i++; ; i++ {
		i = skipSpace(raw, i)
		if i >= len(raw) || raw[i] != '"' {
			return
		}
		end := stringEnd(raw, i)
		name := raw[i:end]
		i = skipSpace(raw, end)
		if i >= len(raw) || raw[i] != ':' {
			return
		}
		i = skipSpace(raw, i+1)
		end = valueEnd(raw, i)
		f(name, raw[i:end])
		i = skipSpace(raw, end)
		if i >= len(raw) || raw[i] != ',' {
			return
		}
	}
}

// lookup returns the value of the last member of that name of the object raw,
// or nil. The value is a part of raw.
func lookup(raw []byte, name string) (value json.RawMessage) {
	if !bytes.Contains(raw, []byte(name)) && bytes.IndexByte(raw, '\\') < 0 {
		return nil
	}
	eachMember(raw, func(n, v []byte) {
		if string(unquoteName(n)) == name {
			value = v
		}
	})
	return value
}

// without returns the object raw without its members of that name; nil if no
// other is left.
func without(raw json.RawMessage, name string) json.RawMessage {
	b := append(make([]byte, 0, len(raw)), '{')
	eachMember(raw, func(n, v []byte) {
		if string(unquoteName(n)) == name {
			return
		}
		b = element(b)
		b = append(b, n...)
		b = append(b, ':')
		b = append(b, v...)
	})
	if len(b) == 1 {
		return nil
	}
	return append(b, '}')
}

// isNull reports whether raw is absent or the literal null.
func isNull(raw []byte) bool { return len(raw) == 0 || raw[0] == 'n' }

// isObject reports whether the raw value is an object.
func isObject(raw []byte) bool {
	i := skipSpace(raw, 0)
	return i < len(raw) && raw[i] == '{'
}

// compact returns a copy of raw without white space between its tokens. Numbers,
// strings, the order of members and duplicates stay as they are, except that
// half of a surrogate pair, which is no character and which strict parsers
// refuse, becomes U+FFFD.
func compact(raw []byte) json.RawMessage {
	return appendCompact(make([]byte, 0, len(raw)), raw)
}

func appendCompact(b, raw []byte) []byte {
	for i := 0; i < len(raw); {
		switch raw[i] {
		case ' ', '\t', '\r', '\n':
			i++
		case '"':
			end := stringEnd(raw, i)
			b = appendScrubbed(b, raw[i:end])
			i = end
		default:
			b = append(b, raw[i])
			i++
		}
	}
	return b
}

// appendScrubbed appends the quoted string s with half surrogate pairs replaced.
func appendScrubbed(b, s []byte) []byte {
	if !bytes.Contains(s, []byte(`\u`)) {
		return append(b, s...)
	}
	for i := 0; i < len(s); {
		switch {
		case s[i] != '\\' || i+1 >= len(s):
			b = append(b, s[i])
			i++
		case s[i+1] != 'u' || i+6 > len(s):
			b = append(b, s[i], s[i+1])
			i += 2
		default:
			r := hex4(s[i+2 : i+6])
			switch {
			case !utf16.IsSurrogate(r):
				b = append(b, s[i:i+6]...)
				i += 6
			case i+12 <= len(s) && s[i+6] == '\\' && s[i+7] == 'u' && utf16.DecodeRune(r, hex4(s[i+8:i+12])) != '\uFFFD':
				b = append(b, s[i:i+12]...)
				i += 12
			default:
				b = append(b, `\ufffd`...)
				i += 6
			}
		}
	}
	return b
}

// hex4 returns the value of four hexadecimal digits.
func hex4(s []byte) (r rune) {
	for _, c := range s {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		}
		r = r<<4 | rune(c&15)
	}
	return r
}

// unquoteName returns the name of a member from its quoted form. Names hardly
// ever hold an escape, and then the result is a part of quoted.
func unquoteName(quoted []byte) []byte {
	if len(quoted) < 2 {
		return nil
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	// The error would tell of half surrogate pairs, which are replaced.
	name, _ := jsontext.AppendUnquote(nil, quoted)
	return name
}

// unquote returns the text of a quoted string.
func unquote(quoted []byte) string { return string(unquoteName(quoted)) }
