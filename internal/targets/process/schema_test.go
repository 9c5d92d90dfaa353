package process_test

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/zlink-systems/zlink-conformance/internal/targets/process"
)

const (
	schemaFile   = "../../../docs/adapter-protocol.schema.json"
	protocolFile = "../../../docs/adapter-protocol.md"
)

// compileSchema compiles the protocol's schema; strict forbids fields that it
// does not name.
func compileSchema(t *testing.T, strict bool) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if strict {
		forbidOthers(document)
	}
	c := jsonschema.NewCompiler()
	c.AssertContent()
	if err := c.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func forbidOthers(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, x := range v {
			forbidOthers(x)
		}
		if _, ok := v["properties"].(map[string]any); ok && v["type"] == "object" {
			v["additionalProperties"] = false
		}
	case []any:
		for _, x := range v {
			forbidOthers(x)
		}
	}
}

func validate(schema *jsonschema.Schema, line string) error {
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// Every message of a session with every operation and every kind of result is
// as the schema says, with no field beside.
func TestSessionFollowsSchema(t *testing.T) {
	trace := &lockedBuffer{}
	tt := start(t, "serve", process.Options{}.With(trace, 0))
	testTarget(t, tt)
	if err := tt.Close(); err != nil {
		t.Fatal(err)
	}
	schema := compileSchema(t, true)
	seen := map[string]bool{}
	for line := range strings.Lines(trace.b.String()) {
		direction, message := line[:2], strings.TrimSuffix(line[2:], "\n")
		if err := validate(schema, message); err != nil {
			t.Errorf("%.300s\n%v", line, err)
		}
		var m struct {
			Op     string
			Result *struct{ Kind string }
			Error  *struct{ Kind string }
		}
		if err := json.Unmarshal([]byte(message), &m); err != nil {
			t.Fatal(err)
		}
		switch {
		case m.Op != "" && direction == "> ":
			seen[m.Op] = true
		case m.Result != nil && direction == "< ":
			seen["result "+m.Result.Kind] = true
		case m.Error != nil && direction == "< ":
			seen["error "+m.Error.Kind] = true
		default:
			t.Errorf("neither a request nor an answer: %s", line)
		}
	}
	for _, want := range []string{
		"hello", "open", "close", "cancel", "recheck", "surface", "location.read", "location.write", "location.scan",
		"relocation.put", "relocation.read", "relocation.renew", "relocation.delete",
		"result hello", "result opened", "result closed", "result cancelling", "result held", "result surface", "result missing",
		"result found", "result applied", "result conflict", "result page", "result expired", "result stored",
		"result alreadyStored", "result renewed", "result deleted",
		"error argument", "error cancelled", "error store-failure", "error internal",
	} {
		if !seen[want] {
			t.Errorf("the session had no %q", want)
		}
	}
}

// The examples of the document are messages of the protocol, and they show
// every operation and kind.
func TestExamplesFollowSchema(t *testing.T) {
	text, err := os.ReadFile(protocolFile)
	if err != nil {
		t.Fatal(err)
	}
	schema := compileSchema(t, true)
	var shown []string
	kind := regexp.MustCompile(`^\{"id": ?\d+, ?"(?:op|result": ?\{"kind|error": ?\{"kind)": ?"([a-zA-Z.-]+)"`)
	for block := range strings.SplitSeq(string(text), "```json\n") {
		body, _, ok := strings.Cut(block, "```")
		if !ok || !strings.HasPrefix(body, `{"id"`) {
			continue
		}
		for line := range strings.Lines(body) {
			if err := validate(schema, line); err != nil {
				t.Errorf("%s%v", line, err)
			}
			if m := kind.FindStringSubmatch(line); m != nil {
				shown = append(shown, m[1])
			}
		}
	}
	var document struct {
		Defs struct {
			Request, Result struct {
				OneOf []struct {
					Properties struct{ Op, Kind struct{ Const string } }
				}
			}
			Error struct {
				Properties struct{ Kind struct{ Enum []string } }
			}
		} `json:"$defs"`
	}
	schemaText, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(schemaText, &document); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range document.Defs.Request.OneOf {
		names = append(names, r.Properties.Op.Const)
	}
	for _, r := range document.Defs.Result.OneOf {
		names = append(names, r.Properties.Kind.Const)
	}
	if len(names) < 30 {
		t.Fatalf("the schema names only %q", names)
	}
	for _, name := range names {
		if !slices.Contains(shown, name) {
			t.Errorf("the document shows no %q", name)
		}
	}
	for _, name := range document.Defs.Error.Properties.Kind.Enum {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("the document does not explain the error kind %q", name)
		}
	}
}

func TestSchemaRejects(t *testing.T) {
	schema := compileSchema(t, false)
	if err := validate(schema, `{"id":1,"result":{"kind":"missing","storeNow":1,"new":true}}`); err != nil {
		t.Errorf("an unknown field: %v", err)
	}
	for _, line := range []string{
		`{}`, `{"id":1}`, `{"id":1,"op":"nothing"}`, `{"op":"hello","protocol":1}`, `{"id":1,"op":"hello","protocol":2}`,
		`{"id":1,"result":{"kind":"missing"}}`, `{"id":1,"result":{"kind":"missing","storeNow":1.5}}`,
		`{"id":1,"result":{"kind":"found","storeNow":1,"value":{"bytes":{"b64":"A"},"version":"v","expiresAt":0}}}`,
		`{"id":1,"error":{"kind":"oops","message":"m"}}`,
		`{"id":1,"op":"relocation.put","handle":1,"reference":"r","payload":{"fill":{"length":-1,"seed":1}},"retentionMs":1}`,
	} {
		if validate(schema, line) == nil {
			t.Errorf("the schema accepts %s", line)
		}
	}
}
