//go:build unix

package faulttest

import (
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/redistest"
)

var reportFlags = []string{"--json", "out.json", "--html", "out.html", "--markdown", "out.md"}

// written are all files of the row's folder by name.
func written(t *testing.T, r *row) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(r.dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(r.dir, path))
		out[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The password of Redis stays on the pipe to the target: it is in no report,
// log, command line or environment, even when the target shows it around.
func TestCredentials(t *testing.T) {
	t.Parallel()
	const secret = `Gehe1m"/&%ü`
	s, _ := server(t, redisenv.ServerOptions{Username: "judge", Password: secret})
	for _, mode := range []string{"good", "blab", "hang", "kill-redis"} {
		t.Run(mode, func(t *testing.T) {
			if mode == "kill-redis" {
				s, _ = server(t, redisenv.ServerOptions{Username: "judge", Password: secret})
			}
			args := append([]string{"--redis", s.ConnInfo().URL, "--verbose", "--run", "spi/read", "--run", "spi/expiry"},
				reportFlags...)
			if mode == "hang" {
				args = append(args, "--timeout", "500ms")
			}
			r := newRow(t, args...).target(mode).run()
			if want := map[string]int{"good": 0, "blab": 1, "hang": 3, "kill-redis": 3}[mode]; r.status != want {
				t.Errorf("status %d, want %d", r.status, want)
			}
			all := written(t, r)
			all["stdout"], all["stderr"] = r.stdout.String(), r.stderr.String()
			if len(all) < 6 || mode == "blab" && all["started-with"] == "" {
				t.Fatalf("what there is to look at: %q", slices.Collect(maps.Keys(all)))
			}
			for name, text := range all {
				for _, form := range []string{secret, "Gehe1m", url.QueryEscape(secret)} {
					if strings.Contains(text, form) {
						at := strings.Index(text, form)
						t.Errorf("%s shows the password: %q", name, text[max(0, at-80):min(len(text), at+40)])
					}
				}
			}
			if mode == "blab" && !strings.Contains(all["out.json"], "judge:xxxxx@") {
				t.Error("the evidence of the target is gone with the password")
			}
		})
	}
}

// The command line of a wrong URL is answered without its password.
func TestCredentialsInMistakes(t *testing.T) {
	t.Parallel()
	for at, status := range map[string]int{"redis://user:Gehe1m@127.0.0.1:1": 3, "unix://user:Gehe1m@/no/such/socket": 3,
		"user:Gehe1m@host": 2, "redis:/user:Gehe1m@host": 2, "redis://user:Gehe1m@host:port": 2, "redis://user:Gehe1m%zz@host": 2,
		"redis://user:Gehe1m@host/?nonsense=1": 2, "http://user:Gehe1m@host": 2} {
		r := newRow(t, "--redis", at).run().oneLine("--redis")
		if all := r.stderr.String() + r.stdout.String() + fmt.Sprint(written(t, r)); strings.Contains(all, "Gehe1m") ||
			r.status != status {
			t.Errorf("%s: status %d, want %d: %s", at, r.status, status, all)
		}
	}
}

// Text of a target stays text in every report, and names no file.
func TestHostileText(t *testing.T) {
	t.Parallel()
	redistest.Need(t)
	for _, verbose := range []string{"--verbose=false", "--verbose"} {
		t.Run(verbose, func(t *testing.T) {
			args := append([]string{"--redis", "local", "--run", "spi/read", verbose}, reportFlags...)
			r := newRow(t, args...).target("hostile").run().want(1, -1, 0).says("DOES NOT CONFORM")
			all := written(t, r)
			if len(all) != 4 {
				t.Errorf("files: %q, expected the four reports", slices.Collect(maps.Keys(all)))
			}
			if _, err := os.Stat(filepath.Join(r.dir, "../../escaped")); err == nil {
				t.Error("a file was made outside")
			}
			all["stdout"], all["stderr"] = r.stdout.String(), r.stderr.String()
			for name, text := range all {
				if i := strings.IndexFunc(text, func(c rune) bool {
					return c != '\n' && c != '\t' && (unicode.IsControl(c) || unicode.Is(unicode.Cf, c))
				}); i >= 0 {
					t.Errorf("%s holds a control character: %q", name, text[max(0, i-40):i+10])
				}
				// The log of a target stands in JUnit as it is: nobody reads XML by lines.
				if name != "out.xml" && regexp.MustCompile(`(?m)^CONFORMS`).MatchString(text) {
					t.Errorf("%s holds the forged judgement on a line of its own", name)
				}
			}
			for _, name := range []string{"out.html", "out.json", "out.xml", "out.md", "stdout"} {
				if !strings.Contains(all[name], "alert(1)") && !strings.Contains(all[name], "alert&#40;1") {
					t.Errorf("%s shows the target's text nowhere", name)
				}
			}
			for _, name := range []string{"out.html", "out.json"} {
				if strings.Contains(all[name], "<script>alert") {
					t.Errorf("%s holds the script", name)
				}
			}
			// In the code blocks of Markdown it is text.
			if outside := regexp.MustCompile("(?s)```text.*?\n```").ReplaceAllString(all["out.md"], ""); strings.Contains(outside,
				"<script>") {
				t.Error("out.md holds the script outside of code blocks")
			}
		})
	}
}
