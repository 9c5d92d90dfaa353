package houserules

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// later are folders whose lines have not been wrapped yet.
var later = regexp.MustCompile(`^(cmd|reports)/`)

// Lines are as long as .editorconfig says. In Markdown tables and blocks of
// code are as they are: a message of the protocol is a line.
func TestWidth(t *testing.T) {
	config, err := os.ReadFile(root + "/.editorconfig")
	if err != nil {
		t.Fatal(err)
	}
	number := func(name string) int {
		m := regexp.MustCompile(`(?m)^` + name + ` = (\d+)$`).FindSubmatch(config)
		if m == nil {
			t.Fatalf(".editorconfig has no %s", name)
		}
		n, err := strconv.Atoi(string(m[1]))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	most, tab := number("max_line_length"), number("tab_width")
	for _, file := range files(t, ".go", ".lua", ".sh", ".md", ".js", ".mjs", ".ts", ".java") {
		if later.MatchString(file) {
			continue
		}
		text, err := os.ReadFile(root + "/" + file)
		if err != nil {
			t.Fatal(err)
		}
		n, code, markdown := 0, false, strings.HasSuffix(file, ".md")
		for line := range strings.Lines(string(text)) {
			n++
			line = strings.TrimSuffix(line, "\n")
			width := utf8.RuneCountInString(line) + (tab-1)*strings.Count(line, "\t")
			if strings.HasPrefix(line, "```") {
				code = !code
			}
			if width > most && !(markdown && (code || strings.HasPrefix(line, "|"))) {
				t.Errorf("%s:%d: %d columns, more than %d", file, n, width, most)
			}
		}
	}
}
