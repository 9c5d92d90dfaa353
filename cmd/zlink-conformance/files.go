package main

import (
	"errors"
	"io"
	"path/filepath"

	"github.com/zlink-systems/zlink-conformance/internal/result"
	"github.com/zlink-systems/zlink-conformance/reports"
)

// reportFile is a report that was asked for.
type reportFile struct {
	flag, path string
	write      func(io.Writer, result.Run) error
}

// files are the report files that the flags ask for; each can be written.
func (f *runFlags) files() ([]reportFile, error) {
	var out []reportFile
	taken := map[string]string{}
	for _, r := range []reportFile{
		{"--junit", f.junit, reports.JUnit},
		{"--json", f.json, reports.JSON},
		{"--html", f.html, reports.HTML},
		{"--markdown", f.markdown, reports.Markdown},
	} {
		if r.path == "" {
			continue
		}
		if other := taken[filepath.Clean(r.path)]; other != "" {
			return nil, usage("%s and %s name the same file", other, r.flag)
		}
		taken[filepath.Clean(r.path)] = r.flag
		if err := reports.Writable(r.path); err != nil {
			return nil, usage("%s: %w", r.flag, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// artifacts is the folder of the first report file: what helps to understand a
// failure is kept beside it.
func (f *runFlags) artifacts() string {
	for _, path := range []string{f.html, f.junit, f.json, f.markdown} {
		if path != "" {
			return filepath.Dir(path)
		}
	}
	return ""
}

// writeFiles writes what can be written and joins the errors of the rest.
func writeFiles(files []reportFile, run result.Run) error {
	var errs []error
	for _, r := range files {
		errs = append(errs, reports.WriteFile(r.path, func(w io.Writer) error { return r.write(w, run) }))
	}
	return errors.Join(errs...)
}
