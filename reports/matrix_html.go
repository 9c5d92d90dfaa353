package reports

import (
	_ "embed"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/result"
)

//go:embed matrix.tmpl
var matrixSource string

var matrixTemplate = template.Must(template.New("matrix").Funcs(template.FuncMap{
	"class":     func(f result.Fate) string { return strings.ReplaceAll(string(f), " ", "-") },
	"round":     func(d time.Duration) string { return d.Round(time.Millisecond).String() },
	"line":      cleanLine,
	"breaks":    breaks,
	"verdictOn": verdictOn,
}).Parse(matrixSource))

// MatrixHTML writes one self-contained page that can be filtered by text; it
// loads nothing from elsewhere.
func MatrixHTML(w io.Writer, m result.Matrix) error {
	return matrixTemplate.Execute(w, map[string]any{
		"Matrix": m, "Lists": caseLists(m), "Judgement": MatrixJudgement(m), "Proven": m.ExitStatus() == result.ExitConforms,
	})
}
