package reports

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink-systems/zlink-conformance/internal/result"
)

var update = flag.Bool("update", false, "write the golden files anew")

func text(t *testing.T, write func(io.Writer, result.Run) error, run result.Run) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, run); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func console(style Style) func(io.Writer, result.Run) error {
	return func(w io.Writer, run result.Run) error { return Console(w, run, style) }
}

// lines is what a verbose run shows while it goes on.
func lines(w io.Writer, run result.Run) error {
	for _, c := range run.Cases {
		if err := Line(w, c, Style{}); err != nil {
			return err
		}
	}
	return nil
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test ./reports -update writes it)", err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got); diff != "" {
		t.Errorf("%s differs (- golden, + got); go test ./reports -update accepts it:\n%s", path, diff)
	}
}

func TestGolden(t *testing.T) {
	for name, write := range map[string]func(io.Writer, result.Run) error{
		"lines.golden":           lines,
		"console.golden":         console(Style{}),
		"console-verbose.golden": console(Style{Verbose: true}),
		"console-color.golden":   console(Style{Color: true}),
		"junit.golden.xml":       JUnit,
		"summary.golden.md":      Markdown,
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, text(t, write, sample())) })
	}
}

func TestJudgementAgreesWithExitStatus(t *testing.T) {
	interrupted := only(result.Pass)
	interrupted.Interrupted = "a signal came"
	broken := only(result.Fail)
	broken.Interrupted = "a signal came"
	strict := only(result.Pass, result.Advisory)
	strict.Strict = true
	for _, c := range []struct {
		name string
		run  result.Run
		exit int
		want string
	}{
		{"pass", only(result.Pass), 0, "CONFORMS"},
		{"one skipped", only(result.Pass, result.Skipped), 0, "PARTIAL: CONFORMS, but not judged: 1 case"},
		{"a layout not offered", offering(only(result.Pass, result.Skipped, result.Skipped, result.Skipped), "layout"), 0,
			"PARTIAL: CONFORMS, but not judged: layout (2 cases), 1 case for other reasons"},
		{"a layout required", require(offering(only(result.Pass, result.Skipped, result.Skipped), "layout"), "cancellation", "layout", "location"), 1,
			"DOES NOT CONFORM (required, but not offered by the target: cancellation, layout; PARTIAL, not judged: layout (1 case), 1 case for other reasons)"},
		{"required, offered, but not to be had here", require(offering(only(result.Pass, result.Skipped, result.Skipped), "clock"), "clock", "tls"), 3,
			"NOT JUDGED: required, but no case could judge it: clock"},
		{"required, but none of the chosen cases is about it", require(offering(only(result.Pass), "clock"), "tls"), 0, "CONFORMS"},
		{"fail and skip", only(result.Fail, result.Skipped), 1, "DOES NOT CONFORM (PARTIAL, not judged: 1 case)"},
		{"not chosen", unchosen(only(result.Pass, result.Skipped)), 0, "CONFORMS"},
		{"advisory", only(result.Pass, result.Advisory), 0, "CONFORMS"},
		{"known", only(result.Pass, result.KnownFailure, result.KnownFailure), 0, "CONFORMS EXCEPT FOR 2 KNOWN FAILURES"},
		{"fail", only(result.Pass, result.Fail, result.Error), 1, "DOES NOT CONFORM"},
		{"flaky", only(result.Flaky), 1, "DOES NOT CONFORM"},
		{"strict advisory", strict, 1, "DOES NOT CONFORM"},
		{"broken, then interrupted", broken, 1, "DOES NOT CONFORM (and the run ended early: a signal came)"},
		{"stale", only(result.Pass, result.UnexpectedPass), 2, "NOT JUDGED: the known-failures list is out of date: 1 case listed there passed"},
		{"error", only(result.Pass, result.Error), 3, "NOT JUDGED: 1 case ended in trouble with the target, Redis or the harness"},
		{"interrupted", interrupted, 3, "NOT JUDGED: the run ended early: a signal came"},
		{"all skipped", only(result.Skipped, result.Skipped), 3, "NOT JUDGED: every case was skipped"},
		{"none", only(), 3, "NOT JUDGED: no case ran"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.run.ExitStatus(); got != c.exit {
				t.Errorf("exit status %d, want %d", got, c.exit)
			}
			if got := Judgement(c.run); got != c.want {
				t.Errorf("judgement %q, want %q", got, c.want)
			}
			lines := strings.Split(strings.TrimRight(text(t, console(Style{}), c.run), "\n"), "\n")
			if last := lines[len(lines)-1]; !strings.HasPrefix(last, c.want+"  ") {
				t.Errorf("last line %q, want it to start with %q", last, c.want)
			}
		})
	}
}

// offering gives the run a target with a Location Store, the capabilities clock
// and tls, and no layout; its cases but the first two need the given thing.
func offering(run result.Run, needs string) result.Run {
	run.Target = result.Target{Stores: []string{"location"}, Layout: "none", Capabilities: []string{"clock", "tls"}}
	for i := range run.Cases {
		if i >= 2 || needs == "clock" && i > 0 {
			run.Cases[i].Needs = []string{"location", needs}
		}
	}
	return run
}

func require(run result.Run, what ...string) result.Run {
	run.Required = what
	return run
}

// unchosen makes the skipped cases those of --large.
func unchosen(run result.Run) result.Run {
	for i := range run.Cases {
		run.Cases[i].Unchosen = run.Cases[i].Verdict == result.Skipped
	}
	return run
}

// Every report says what a run did not judge, and what it required in vain.
func TestEveryReportSaysWhatWasNotJudged(t *testing.T) {
	partial := offering(only(result.Pass, result.Skipped, result.Skipped), "layout")
	unmet := require(partial, "layout")
	for name, write := range map[string]func(io.Writer, result.Run) error{
		"console": console(Style{}), "junit": JUnit, "json": JSON, "html": HTML, "markdown": Markdown,
	} {
		if got := text(t, write, partial); !strings.Contains(got, "PARTIAL: CONFORMS, but not judged: layout (1 case)") {
			t.Errorf("%s does not say it:\n%s", name, got)
		}
		if got := text(t, write, unmet); !strings.Contains(got, "required, but not offered by the target: layout") {
			t.Errorf("%s does not say it:\n%s", name, got)
		}
	}
}

// No report may pass a control character of a target on, and no line that a
// target wrote may stand at the start of a line.
func TestHostileTextIsHarmless(t *testing.T) {
	run := sample()
	run.Target = result.Target{Command: hostile, Provider: hostile, Language: hostile, Version: hostile, Layout: hostile, Capabilities: []string{hostile}}
	run.Interrupted = hostile
	run.Tool = hostile
	for i := range run.Cases {
		c := &run.Cases[i]
		c.Reason, c.Title, c.Repeat = hostile, hostile, hostile
		c.Requirements = append(c.Requirements, hostile)
	}
	for name, write := range map[string]func(io.Writer, result.Run) error{
		"console": console(Style{}), "verbose": console(Style{Verbose: true}), "junit": JUnit, "markdown": Markdown, "html": HTML,
	} {
		t.Run(name, func(t *testing.T) {
			got := text(t, write, run)
			for _, r := range got {
				if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\ufffe') {
					t.Fatalf("%q of the target came through", r)
				}
			}
			if !strings.Contains(got, `\x1b[2J`) {
				t.Error("the escape sequence is not shown as text")
			}
			if name == "html" && strings.Contains(got, "<script>alert") {
				t.Error("markup of the target came through")
			}
			if name == "markdown" && strings.Contains(got, "<summary>fail: <") {
				t.Error("markup of the target came through")
			}
			for line := range strings.SplitSeq(got, "\n") {
				if name != "junit" && name != "html" && strings.HasPrefix(line, "CONFORMS") {
					t.Errorf("a forged line came through: %q", line)
				}
			}
		})
	}
}

func TestConsoleShowsTheEvidenceOfAFailure(t *testing.T) {
	got := text(t, console(Style{}), sample())
	for _, want := range []string{
		"FAIL  spi/batch/last-condition-false on local redis-server 7.0.15",
		"L4.all-or-nothing (MUST): Every condition is checked before any mutation.",
		"source: Location Store, Conditional atomic batch",
		"a key was written although the batch conflicted",
		"- \tspi.Missing{},",
		"write {conditions: 2048} -> conflict",
		"{p}:{zlink-location-v3}:opaque:ab ZSET 1 member",
		"warning: slow",
		"repeat: zlink-conformance run --target 'node adapter.js' --run spi/batch/last-condition-false --seed 42",
		"2 cases: the target has no capability counter",
		"ADVISORY  spi/scan/page-bytes",
		"the target exited with status 3",
		"DOES NOT CONFORM (PARTIAL, not judged: 2 cases)  10 cases: 2 pass, 1 fail, 1 advisory, 2 skipped, 1 known failure, 1 unexpected pass, 1 flaky, 1 error",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the console report lacks %q", want)
		}
	}
}

func TestConsoleCutsLongEvidence(t *testing.T) {
	run := only(result.Error)
	run.Cases[0].Evidence.Log = append(make([]string, 100), strings.Repeat("x", 1<<20))
	got := text(t, console(Style{}), run)
	if len(got) > 10_000 || !strings.Contains(got, "(76 lines more before these") {
		t.Errorf("%d bytes:\n%.2000s", len(got), got)
	}
}

func TestConsoleReportsAFullDisk(t *testing.T) {
	if err := Console(failing{}, sample(), Style{}); err != io.ErrShortWrite {
		t.Errorf("got %v, want the writer's error", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestJSONHoldsTheModel(t *testing.T) {
	run := only(result.Pass, result.Fail)
	var got struct {
		Judgement  string         `json:"judgement"`
		ExitStatus int            `json:"exitStatus"`
		Counts     map[string]int `json:"counts"`
		Cases      []result.Case  `json:"cases"`
	}
	if err := json.Unmarshal([]byte(text(t, JSON, run)), &got); err != nil {
		t.Fatal(err)
	}
	if got.Judgement != "DOES NOT CONFORM" || got.ExitStatus != 1 || got.Counts["fail"] != 1 || len(got.Cases) != 2 {
		t.Errorf("got %+v", got)
	}
}

// What a terminal obeys is escaped, and a reader gets it back.
func TestJSONShowsNothingInvisible(t *testing.T) {
	const odd = "\x1b[2J\x00\u009b\u202e\u2066\ufeff\U000e0041 é \U0001f600"
	run := only(result.Fail)
	run.Cases[0].Reason = odd
	got := text(t, JSON, run)
	if i := strings.IndexFunc(got, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
		t.Errorf("the report holds %q", got[i:i+4])
	}
	var back result.Run
	if err := json.Unmarshal([]byte(got), &back); err != nil || back.Cases[0].Reason != odd {
		t.Errorf("the reason reads back as %q, %v", back.Cases[0].Reason, err)
	}
}

func TestHTMLLoadsNothing(t *testing.T) {
	got := text(t, HTML, sample())
	for _, bad := range []string{"src=", "href=", "http:", "https:", "@import", "url("} {
		if strings.Contains(got, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if !strings.Contains(got, "spi/batch/last-condition-false") || !strings.Contains(got, "DOES NOT CONFORM") {
		t.Error("the page lacks the case or the judgement")
	}
}

// What asks something of the reader comes first and is open; passes are hidden
// until they are asked for, unless there is nothing else.
func TestHTMLShowsFirstWhatMatters(t *testing.T) {
	got := text(t, HTML, sample())
	order := []string{"spi/batch/last-condition-false", "spi/read/flaky", "spi/read/died", "spi/scan/page-bytes", "counter/issue", "spi/read/exact"}
	at := strings.Index(got, "<main>")
	for _, id := range order {
		next := strings.Index(got[at:], "<code>"+id)
		if next < 0 {
			t.Fatalf("%s is not where it should be", id)
		}
		at += next
	}
	for _, want := range []string{
		`value="pass"> pass (2)`, `value="fail" checked> fail (1)`, `<details open class="case fail"`,
		`<tr><td>counter on local redis-server 7.0.15</td>`, `style="--hang: 2"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if !strings.Contains(text(t, HTML, only(result.Pass)), `value="pass" checked> pass (1)`) {
		t.Error("a page of passes alone shows none")
	}
}

func TestProgressEndsOnAClearLine(t *testing.T) {
	var b bytes.Buffer
	p := NewProgress(&b, 2)
	p.Done(result.Case{Verdict: result.Pass})
	p.Done(result.Case{Verdict: result.Fail})
	p.Clear()
	got := b.String()
	if !strings.Contains(got, "2") || strings.Contains(got, "\n") || !strings.HasSuffix(got, "\r") {
		t.Errorf("got %q", got)
	}
}
