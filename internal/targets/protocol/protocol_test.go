package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestText(t *testing.T) {
	for text, wire := range map[Text]string{
		"":                 `""`,
		"a\"\n\x00é\u2028": `"a\"\n\u0000é\u2028"`,
		"\ufffd":           `"` + "\ufffd" + `"`,
		"😀":                `"😀"`,
		"\xed\xa0\x80":     `{"b64":"7aCA"}`,
		"\xff":             `{"b64":"/w=="}`,
	} {
		got, err := json.Marshal(text)
		if err != nil || string(got) != wire {
			t.Errorf("Marshal(%q) = %s, %v; want %s", string(text), got, err, wire)
		}
		var back Text
		if err := json.Unmarshal([]byte(wire), &back); err != nil || back != text {
			t.Errorf("Unmarshal(%s) = %q, %v; want %q", wire, string(back), err, string(text))
		}
	}
	for wire, want := range map[string]Text{`"\ud83d\ude00"`: "😀", `"\uFFFD"`: "\ufffd"} {
		var got Text
		if err := json.Unmarshal([]byte(wire), &got); err != nil || got != want {
			t.Errorf("Unmarshal(%s) = %q, %v; want %q", wire, string(got), err, string(want))
		}
	}
	for _, wire := range []string{`"\ud800"`, `"a\udc00b"`, "\"\xff\"", `{}`, `{"b64":"?"}`, `1`, `["a"]`} {
		var got Text
		if err := json.Unmarshal([]byte(wire), &got); err == nil {
			t.Errorf("Unmarshal(%q) = %q, want an error", wire, string(got))
		}
	}
}

func TestFill(t *testing.T) {
	// Computed from the formula with integers of any size, outside Go.
	if got := fmt.Sprintf("%x", Fill{Length: 4, Seed: 7}.Bytes()); got != "53f18f2e" {
		t.Errorf("the fill of seed 7 begins with %s", got)
	}
	if got := (Fill{Length: 3, Seed: 4294967295, Patch: [][2]int64{{0, 1}, {2, 255}}}).Bytes(); !bytes.Equal(got,
		[]byte{1, 0, 255}) {
		t.Errorf("the patched fill is % x", got)
	}
	for _, f := range []Fill{{Length: -1}, {Length: MaxFillBytes + 1}, {Length: 1, Patch: [][2]int64{{-1, 0}}},
		{Length: 1, Patch: [][2]int64{{1, 0}}}, {Length: 1, Patch: [][2]int64{{0, 256}}},
		{Length: 1, Patch: [][2]int64{{0, -1}}}} {
		if _, err := (&Bytes{Fill: &f}).Content(); err == nil {
			t.Errorf("the fill %+v is accepted", f)
		}
	}
	for _, b := range []*Bytes{nil, {}} {
		if _, err := b.Content(); err == nil {
			t.Errorf("the bytes %+v are accepted", b)
		}
	}
}

func TestLines(t *testing.T) {
	const max = 100_000
	long := strings.Repeat("y", max+1)
	text := "a\n\nb\r\n" + long[:max] + "\n" + long + "\nlast"
	for name, r := range map[string]io.Reader{
		"at once": strings.NewReader(text), "in bytes": iotest.OneByteReader(strings.NewReader(text)),
		"error with data": iotest.DataErrReader(strings.NewReader(text)),
	} {
		lines := NewLines(r, max)
		for _, want := range []struct {
			line   string
			length int64
		}{{"a", 1}, {"", 0}, {"b", 1}, {long[:max], max}, {long[:max], max + 1}, {"last", 4}} {
			line, length, err := lines.Next()
			if err != nil || string(line) != want.line || length != want.length {
				t.Errorf("%s: Next() = %.10q (%d bytes), %d, %v; want %.10q, %d", name, line, len(line), length, err, want.line,
					want.length)
			}
		}
		for range 2 {
			if line, _, err := lines.Next(); err != io.EOF {
				t.Errorf("%s: Next() = %q, %v at the end", name, line, err)
			}
		}
	}
}
