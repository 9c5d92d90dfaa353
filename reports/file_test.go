package reports

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestWriteFileMakesParentsAndReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "out.xml")
	for _, want := range []string{"a longer text", "short"} {
		if err := Writable(path); err != nil {
			t.Fatal(err)
		}
		if err := WriteFile(path, write(want)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
	if got := names(t, filepath.Dir(path)); len(got) != 1 {
		t.Errorf("the folder holds %q, want the report alone", got)
	}
}

func TestWriteFileKeepsTheOldFileWhenItFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.xml")
	if err := WriteFile(path, write("old")); err != nil {
		t.Fatal(err)
	}
	err := WriteFile(path, func(w io.Writer) error {
		return errors.Join(write("half")(w), errors.New("no space left"))
	})
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("got %v, want an error with the path and the cause", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("the file holds %q, want the old report", got)
	}
	if got := names(t, filepath.Dir(path)); len(got) != 1 {
		t.Errorf("the folder holds %q, want the old report alone", got)
	}
}

func TestWritableNamesTheTrouble(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Join(file, "out.xml")} {
		err := Writable(path)
		if err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want one line that names the path", path, err)
		}
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("the folder holds %q, want the file alone", got)
	}
}

func TestFullDeviceIsOneClearError(t *testing.T) {
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skipf("this system has no %s", full)
	}
	err := WriteFile(full, write("text"))
	if err == nil || err.Error() != "cannot write /dev/full: no space left on device" {
		t.Errorf("got %v", err)
	}
}
