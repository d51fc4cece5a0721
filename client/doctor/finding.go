package doctor

import (
	"fmt"
	"strings"
	"unicode"
)

func found(s Severity, format string, args ...any) Finding {
	return Finding{Severity: s, Text: fmt.Sprintf(format, args...)}
}

func good(format string, args ...any) []Finding { return []Finding{found(OK, format, args...)} }
func skip(format string, args ...any) []Finding { return []Finding{found(Skipped, format, args...)} }
func bad(format string, args ...any) []Finding  { return []Finding{found(Fail, format, args...)} }
func poor(format string, args ...any) []Finding { return []Finding{found(Warn, format, args...)} }

// advise adds a hint and lines to the first of a check's findings.
func advise(list []Finding, hint string, fixes ...Fix) []Finding {
	list[0].Hint = hint
	list[0].Fixes = fixes
	return list
}

// excerpt is the first part of a foreign text, on one line and without what a terminal
// would act on.
func excerpt(text string) string {
	const most = 120
	if len(text) > 4*most {
		text = text[:4*most]
	}
	words := strings.FieldsFunc(strings.ToValidUTF8(text, ""), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	runes := []rune(strings.Join(words, " "))
	if len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return string(runes)
}

// places lists URLs in a sentence: the first, and how many more.
func places(urls []string) string {
	if len(urls) == 1 {
		return urls[0]
	}
	return fmt.Sprintf("%s and %d more", urls[0], len(urls)-1)
}
