package reports

import (
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/zlink-systems/zlink-conformance/internal/result"
)

// document is the JSON report: the run and what it amounts to.
type document struct {
	Judgement  string                 `json:"judgement"`
	ExitStatus int                    `json:"exitStatus"`
	Counts     map[result.Verdict]int `json:"counts"`
	NotJudged  []result.Gap           `json:"notJudged,omitempty"`
	Unmet      []string               `json:"unmet,omitempty"` // required, but not offered by the target
	result.Run
}

// JSON writes the whole result model, with the judgement in words, the exit
// status and the number of cases of each verdict.
func JSON(w io.Writer, run result.Run) error {
	text, err := json.MarshalIndent(document{Judgement(run), run.ExitStatus(), result.Counts(run.Cases), run.NotJudged(), run.Unmet(), run}, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(escapeInvisible(text), '\n'))
	return err
}

// escapeInvisible escapes the control and format characters that the encoder
// leaves in strings, so that showing the file on a terminal is harmless.
func escapeInvisible(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for _, r := range string(text) {
		switch {
		case r == '\n' || visible(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}
