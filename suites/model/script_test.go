package model_test

import (
	"strings"
	"testing"

	"github.com/zlink-systems/zlink-conformance/suites/model"
)

func TestScriptRoundTrip(t *testing.T) {
	text := `write do put a "x"
write if missing a, version "a b" back 2, version "\x00" from é-less do delete a, put "*" fill 1048576 3 for 1500
write if version a
read "\u00e9\xff"
scan s1 prefix "a*" limit 1000
reference scan s2 prefix "" limit 1
next s1 limit 3
rest s2 limit 1
blob put "r:{}" "" for 3600000
reference blob read r:1
blob renew r for 1
write do put a "x" for 0, put b "x" for -0.5, put c "x" for 0.001, put d "x" for 9223372036854775808
blob renew r for -9223372036854775808
blob renew r for 1e300
blob renew r for 5e-324
blob delete r
advance 400
`
	text = strings.ReplaceAll(text, "é-less", "e-less")
	script, err := model.ParseScript(text)
	if err != nil {
		t.Fatal(err)
	}
	if got := script.String(); got != text {
		t.Errorf("written again:\n%s\nwant\n%s", got, text)
	}
}

func TestScriptIgnoresWhatCopyingAdds(t *testing.T) {
	script, err := model.ParseScript("# L4.put: why\r\n\r\n    read a\r\n\t# end\r\n  write   do delete \"a\" , delete b  ")
	if err != nil {
		t.Fatal(err)
	}
	if got := script.String(); got != "read a\nwrite do delete a, delete b\n" {
		t.Errorf("got %q", got)
	}
}

func TestScriptErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "the script holds no operation"},
		{"# nothing", "the script holds no operation"},
		{"read a\n\nrae b", "line 3: rae is no operation: use write, read, scan, next, rest, blob or advance"},
		{"read", "line 1: a key is missing at the end"},
		{"read a b", "line 1: unexpected b after the operation"},
		{"read é", `line 1: "é" must stand in double quotes`},
		{`read "a`, `line 1: a quoted text does not end, or holds an escape that is none: use \", \\, \n or \x00`},
		{`read ""`, "line 1: a key must not be empty"},
		{"write", "line 1: write needs conditions after if, mutations after do, or both"},
		{"write if do", "line 1: do is no condition: use missing or version"},
		{"write if missing a,", "line 1: a condition is missing at the end"},
		{"write if missing a, version a", "line 1: the key a stands twice in the conditions"},
		{"write do delete a, delete a", "line 1: the key a stands twice in the mutations"},
		{"write do put a x", `line 1: x where a value ("..." or fill LENGTH SEED) belongs`},
		{`write do put a "x" for long`, "line 1: long where milliseconds belong: a number such as 1500, 0.5, -1 or 1e19"},
		{`write do put a "x" for inf`, "line 1: inf where milliseconds belong: a number such as 1500, 0.5, -1 or 1e19"},
		{`blob renew r for 1e999`, "line 1: 1e999 where milliseconds belong: a number such as 1500, 0.5, -1 or 1e19"},
		{`blob renew r for 0x10`, "line 1: 0x10 where milliseconds belong: a number such as 1500, 0.5, -1 or 1e19"},
		{`blob renew r for "1"`, `line 1: "1" where milliseconds belong: a number such as 1500, 0.5, -1 or 1e19`},
		{"write do put a fill 10", "line 1: a seed is missing at the end"},
		{"write if version a back 0", "line 1: 0 where a count of versions from 1 to 2147483647 belongs"},
		{`scan s1 prefix a limit 1`, "line 1: a where the prefix belongs"},
		{`scan s1 prefix "" limit 1001`, "line 1: 1001 where a limit from 1 to 1000 belongs"},
		{"next s1 limit 1", "line 1: no scan s1 was opened before"},
		{"scan s prefix \"\" limit 1\nscan s prefix \"\" limit 1", "line 2: a scan s was opened before: use another name"},
		{"scan s prefix \"\" limit 1\nreference rest s limit 1",
			"line 2: the provider that opened a scan reads its pages: leave out reference"},
		{"reference advance 5", "line 1: the clock is nobody's: leave out reference"},
		{"blob get r", "line 1: get is no operation on a blob: use put, read, renew or delete"},
		{`blob put r "x"`, "line 1: for is missing at the end"},
		{"advance -5", "line 1: -5 where milliseconds from 1 to 2147483647 belongs"},
	} {
		_, err := model.ParseScript(c.text)
		if err == nil || err.Error() != c.want {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
}

// Whatever the text, the parser answers, and what it takes it writes the same
// way again.
func FuzzParseScript(f *testing.F) {
	for _, seed := range []string{"read a", `write if version a from b back 1 do put "\xff" fill 3 4 for 5, delete c`,
		"scan s prefix \"\" limit 1\nnext s limit 2", "blob put r \"\" for 1", "blob renew r for -1.5e-7"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		script, err := model.ParseScript(text)
		if err != nil {
			return
		}
		again, err := model.ParseScript(script.String())
		if err != nil || again.String() != script.String() {
			t.Errorf("%q is written as %q, which is read as %q, %v", text, script, again, err)
		}
	})
}
