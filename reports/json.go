package reports

import (
	"encoding/json"
	"io"

	"github.com/zlink-systems/zlink-conformance/result"
)

// document is the JSON report: the run and what it amounts to.
type document struct {
	Judgement  string                 `json:"judgement"`
	ExitStatus int                    `json:"exitStatus"`
	Counts     map[result.Verdict]int `json:"counts"`
	result.Run
}

// JSON writes the whole result model, with the judgement in words, the exit
// status and the number of cases of each verdict.
func JSON(w io.Writer, run result.Run) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(document{Judgement(run), run.ExitStatus(), result.Counts(run.Cases), run})
}
