package harness

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Artifact keeps a file beside the run's reports that helps to understand a
// case that fails, such as a picture; name ends in its extension. Without a
// folder (Config.Artifacts) it keeps nothing. A note in the evidence says where
// the file is or how to get it.
func (t *T) Artifact(name string, write func(io.Writer) error) {
	if t.run.config.Artifacts == "" {
		t.Notef("%s was not kept: with --html, --json, --junit or --markdown it is kept beside that report", name)
		return
	}
	path := filepath.Join(t.run.config.Artifacts, strings.ReplaceAll(t.definition.ID, "/", "-")+"-"+name)
	if err := writeFile(path, write); err != nil {
		t.Notef("%s was not kept: %v", name, err)
		return
	}
	t.Notef("kept %s", path)
}

func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
