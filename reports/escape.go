package reports

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean makes text safe to show: everything but line feeds, tabs and printing
// characters becomes a visible escape such as \x1b, so that a target can write
// neither escape sequences into a terminal nor characters that XML 1.0 lacks.
func clean(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n' || r == '\t' || visible(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return b.String()
}

// visible is false for control and format characters (C0, C1, bidirectional
// overrides, zero-width ones), line and paragraph separators, and for code
// points that are no characters. U+00A0 is visible: go-cmp prints it in diffs.
func visible(r rune) bool { return unicode.IsPrint(r) || r == '\u00a0' }

// cleanLine is clean for text that must stay on one line.
func cleanLine(s string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(clean(s))
}

// CleanLine makes text of unknown origin safe to show in one line, on a
// terminal and elsewhere: control and format characters become visible escapes.
func CleanLine(s string) string { return cut(cleanLine(s), maxLine) }

// maxLine bounds a line in bytes.
const maxLine = 2000

// cut shortens a line to about max bytes and says how much is gone.
func cut(s string, max int) string {
	if len(s) <= max {
		return s
	}
	at := max
	for !utf8.RuneStart(s[at]) {
		at--
	}
	return fmt.Sprintf("%s… (%d bytes more)", s[:at], len(s)-at)
}
