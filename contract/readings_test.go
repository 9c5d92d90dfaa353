package contract

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	readingHeading = regexp.MustCompile(`(?m)^### (\S+)\n`)
	readingItem    = regexp.MustCompile(`(?s)^\*\*([^*]+):\*\* (.*)$`)
)

// readingsPage returns the items of each entry of docs/readings.md: ID, then
// label, then text on one line.
func readingsPage(t *testing.T) map[string]map[string]string {
	t.Helper()
	data, err := os.ReadFile("../docs/readings.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	page := map[string]map[string]string{}
	headings := readingHeading.FindAllStringSubmatchIndex(text, -1)
	for _, h := range headings {
		id, body := text[h[2]:h[3]], text[h[1]:]
		if end := strings.Index(body, "\n##"); end >= 0 {
			body = body[:end]
		}
		if page[id] != nil {
			t.Errorf("docs/readings.md holds %s twice", id)
		}
		page[id] = map[string]string{}
		for _, item := range strings.Split(body, "\n- ") {
			if m := readingItem.FindStringSubmatch(item); m != nil {
				page[id][m[1]] = strings.Join(strings.Fields(m[2]), " ")
			}
		}
	}
	return page
}

// docs/readings.md and the catalogue hold the same readings in the same words.
func TestReadingsPageMatchesCatalogue(t *testing.T) {
	page := readingsPage(t)
	catalogue := load(t)
	for _, r := range catalogue.All() {
		entry := page[r.ID]
		switch {
		case r.Reading == "" && entry == nil:
		case r.Reading == "":
			t.Errorf("docs/readings.md explains %s, which has no reading in requirements.yaml", r.ID)
		case entry == nil:
			t.Errorf("docs/readings.md does not explain the reading of %s", r.ID)
		default:
			if got := entry["Our reading"]; got != r.Reading {
				t.Errorf("%s differs:\n  page:      %s\n  catalogue: %s", r.ID, got, r.Reading)
			}
			for _, label := range []string{"The documents say", "They leave open", "How a case checks it"} {
				if entry[label] == "" {
					t.Errorf("docs/readings.md: %s lacks %q", r.ID, label)
				}
			}
		}
		delete(page, r.ID)
	}
	for id := range page {
		t.Errorf("docs/readings.md explains %s, which requirements.yaml has not", id)
	}
}
