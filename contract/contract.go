// Package contract holds the catalogue of requirements that a provider is
// judged by: one entry for each sentence of the Store documents that a
// provider can break. Cases and mutants name these IDs; Coverage joins them.
package contract

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

//go:embed requirements.yaml
var embedded []byte

// Level says how binding a requirement is.
type Level string

const (
	// Must marks a requirement that a conforming provider keeps.
	Must Level = "MUST"
	// Should marks one whose breach is an advisory.
	Should Level = "SHOULD"
)

// Requirement is one sentence of the contract.
type Requirement struct {
	// ID is a letter and section, and a name, such as "L5.expired".
	ID    string `yaml:"id" json:"id"`
	Level Level  `yaml:"level" json:"level"`
	// Source names documents and sections, such as
	// "location-store §4; cpp-interface §2", the leading one first.
	Source string `yaml:"source" json:"source"`
	// Sentence says in one sentence what must hold.
	Sentence string `yaml:"sentence" json:"sentence"`
	// Reading is how an open point of the documents is read, or "".
	Reading string `yaml:"reading" json:"reading,omitempty"`
	// Untestable is why no black-box test reaches the requirement, or "".
	Untestable string `yaml:"untestable" json:"untestable,omitempty"`
}

// Testable reports whether a black-box test can reach the requirement.
func (r Requirement) Testable() bool { return r.Untestable == "" }

// Group is the part of the contract that a requirement belongs to.
type Group string

// The groups, in the catalogue's order; Golden requirements stand among the
// layout that they pin.
const (
	Location        Group = "location"
	RedisLocation   Group = "redis-location"
	Counter         Group = "counter"
	Relocation      Group = "relocation"
	RedisRelocation Group = "redis-relocation"
	Payload         Group = "payload"
	Golden          Group = "golden"
)

// groups maps the part of an ID before its dot to the group.
var groups = map[string]Group{
	"L2": Location, "L3": Location, "L4": Location, "L5": Location, "L6": Location, "L7": Location, "L10": Location,
	"L9": RedisLocation,
	"L8": Counter,
	"R3": Relocation, "R4": Relocation, "R5": Relocation, "R6": Relocation, "R7": Relocation, "R9": Relocation,
	"R8": RedisRelocation,
	"P3": Payload,
}

// Group derives the requirement's group from its ID.
func (r Requirement) Group() Group {
	section, name, _ := strings.Cut(r.ID, ".")
	if name == "golden" {
		return Golden
	}
	return groups[section]
}

// Catalogue is the list of all requirements.
type Catalogue struct {
	all  []Requirement
	byID map[string]int // index into all
}

// Load reads the embedded catalogue. It refuses unknown fields, duplicate IDs,
// missing fields and unknown levels, groups and documents, with an error that
// names the entry.
func Load() (*Catalogue, error) { return parse(embedded) }

// All returns the requirements in document order.
func (c *Catalogue) All() []Requirement { return append([]Requirement(nil), c.all...) }

// Requirement returns the requirement with the given ID.
func (c *Catalogue) Requirement(id string) (Requirement, bool) {
	i, ok := c.byID[id]
	if !ok {
		return Requirement{}, false
	}
	return c.all[i], true
}

func parse(data []byte) (*Catalogue, error) {
	var file struct {
		Requirements []Requirement `yaml:"requirements"`
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil {
		return nil, fmt.Errorf("requirements.yaml: %s", oneLine(err))
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("requirements.yaml: holds more than one document; keep all entries in one list")
	}
	if len(file.Requirements) == 0 {
		return nil, errors.New("requirements.yaml: holds no requirements")
	}
	catalogue := &Catalogue{all: file.Requirements, byID: make(map[string]int, len(file.Requirements))}
	for i, r := range catalogue.all {
		if err := validate(r); err != nil {
			return nil, fmt.Errorf("requirements.yaml: entry %d (%s): %w", i+1, r.ID, err)
		}
		if first, taken := catalogue.byID[r.ID]; taken {
			return nil, fmt.Errorf("requirements.yaml: entry %d (%s): the ID is already taken by entry %d", i+1, r.ID, first+1)
		}
		catalogue.byID[r.ID] = i
	}
	return catalogue, nil
}

var (
	idForm     = regexp.MustCompile(`^[A-Z][0-9]+\.[a-z0-9]+(-[a-z0-9]+)*$`)
	sourceForm = regexp.MustCompile(`^(location-store|relocation-store|java-interface|cpp-interface) ` +
		`(§[0-9]+(\.[0-9]+)?|"[^"]+")$`)
)

func validate(r Requirement) error {
	for _, field := range []struct{ name, value string }{
		{"id", r.ID}, {"level", string(r.Level)}, {"source", r.Source}, {"sentence", r.Sentence},
	} {
		if field.value == "" {
			return fmt.Errorf("the field %q is missing", field.name)
		}
	}
	if !idForm.MatchString(r.ID) {
		return errors.New("the ID has not the form of L5.expired or R4.put-keeps")
	}
	if r.Group() == "" {
		return errors.New("the ID starts with a section that belongs to no group")
	}
	if r.Level != Must && r.Level != Should {
		return fmt.Errorf("the level is %q; it must be MUST or SHOULD", r.Level)
	}
	for _, source := range strings.Split(r.Source, "; ") {
		if !sourceForm.MatchString(source) {
			return fmt.Errorf("the source %q has not the form of location-store §4 or java-interface \"Atomic Write\"", source)
		}
	}
	return nil
}

// oneLine joins the lines of a YAML error.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
