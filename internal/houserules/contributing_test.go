package houserules

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zlink-systems/zlink-conformance/internal/redistest"
)

// A block of CONTRIBUTING.md is a new file, or what a file gets below the first
// line that holds a text.
var block = regexp.MustCompile("(?s)<!-- ([^\n ]+?)(?:, below: ([^\n]+))? -->\n```[a-z]+\n(.*?)```\n")

// What CONTRIBUTING.md says to write is laid over the tree and works.
func TestContributing(t *testing.T) {
	text, err := os.ReadFile(root + "/CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	base, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	written, dir := map[string]string{}, t.TempDir()
	replace := map[string]string{}
	for _, m := range block.FindAllStringSubmatch(string(text), -1) {
		file, below, content := m[1], m[2], m[3]
		if below != "" {
			old, ok := written[file]
			if !ok {
				there, err := os.ReadFile(filepath.Join(base, file))
				if err != nil {
					t.Fatal(err)
				}
				old = string(there)
			}
			before, after, found := strings.Cut(old, below)
			rest, after, _ := strings.Cut(after, "\n")
			if !found {
				t.Fatalf("%s holds no %q", file, below)
			}
			content = before + below + rest + "\n" + content + after
		} else if _, err := os.Stat(filepath.Join(base, file)); err == nil {
			t.Fatalf("%s is there already", file)
		}
		written[file] = content
		place := filepath.Join(dir, strings.ReplaceAll(file, "/", "-"))
		if err := os.WriteFile(place, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(base, file)] = place
	}
	if len(replace) != 8 {
		t.Errorf("the example writes %d files, want 8", len(replace))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	command := filepath.Join(dir, "zlink-conformance.exe")
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = base
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", command, "./cmd/zlink-conformance")
	out := run(command, "coverage")
	if !regexp.MustCompile(`(?m)^L2\.read-again +MUST +1 +1 `).MatchString(out) {
		t.Errorf("the requirement has not one case and one mutant:\n%s", out)
	}
	redistest.Need(t)
	if out := run(command, "run", "--redis", "local", "--run", "spi/read/again", "--run", "steady"); !strings.Contains(out,
		"2 cases: 2 pass") {
		t.Errorf("the cases do not pass on the reference:\n%s", out)
	}
	run(command, "selftest", "--redis", "local", "--mutant", "read/every-second")
}
