package harness

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// Bounds of the evidence: enough to understand a failure, small enough for a
// report of hundreds of them.
const (
	maxFindings       = 8
	maxOperations     = 20
	maxOperationBytes = 400
	maxDiffBytes      = 4000
	maxTextLine       = 1000 // what a finding says, a reason, a line of the target's log
	maxNotes          = 40
	maxNoteBytes      = 4000
	maxLogLines       = 40
	maxTextBytes      = 60
	maxShownBytes     = 24
	maxListed         = 4
)

// Describe writes a request or result of the contract in one line for people.
func Describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case spi.Missing:
		return fmt.Sprintf("missing now=%d", v.StoreNow)
	case spi.Found:
		return fmt.Sprintf("found %s now=%d", describeValue(v.Value), v.StoreNow)
	case spi.Applied:
		return fmt.Sprintf("applied [%s] now=%d", list(v.PutVersions, func(p spi.PutVersion) string {
			return quote(string(p.Key)) + "→" + quote(string(p.Version))
		}), v.StoreNow)
	case spi.Conflict:
		return fmt.Sprintf("conflict now=%d", v.StoreNow)
	case spi.Page:
		next := "last"
		if v.Next != nil {
			next = "next=" + quote(string(*v.Next))
		}
		return fmt.Sprintf("page of %d [%s] %s now=%d", len(v.Items), list(v.Items, func(i spi.Item) string {
			return quote(string(i.Key)) + " " + describeValue(i.Value)
		}), next, v.StoreNow)
	case spi.Expired:
		return "expired"
	case spi.Stored:
		return fmt.Sprintf("stored expires=%d now=%d", v.ExpiresAt, v.StoreNow)
	case spi.AlreadyStored:
		return fmt.Sprintf("alreadyStored expires=%d now=%d", v.ExpiresAt, v.StoreNow)
	case spi.BlobFound:
		return fmt.Sprintf("found %s expires=%d now=%d", describeBytes(v.Bytes), v.ExpiresAt, v.StoreNow)
	case spi.Renewed:
		return fmt.Sprintf("renewed expires=%d now=%d", v.ExpiresAt, v.StoreNow)
	case targets.DigestResult:
		if !v.Found {
			return fmt.Sprintf("missing now=%d", v.StoreNow)
		}
		return fmt.Sprintf("found %d bytes sha256=%x expires=%d now=%d", v.Length, v.SHA256[:8], v.ExpiresAt, v.StoreNow)
	case spi.WriteRequest:
		return fmt.Sprintf("if {%s} do {%s}", list(v.Conditions, describeCondition), list(v.Mutations, describeMutation))
	case spi.ScanRequest:
		from := "first page"
		if v.Cursor != nil {
			from = "from " + quote(string(*v.Cursor))
		}
		return fmt.Sprintf("prefix %s limit %d %s", quote(v.Prefix), v.Limit, from)
	}
	return fmt.Sprintf("%+v", v)
}

func describeCondition(c spi.Condition) string {
	switch c := c.(type) {
	case spi.MissingCondition:
		return "missing " + quote(string(c.Key))
	case spi.VersionCondition:
		return "version " + quote(string(c.Key)) + "=" + quote(string(c.Expected))
	case spi.ValueCondition:
		return "value " + quote(string(c.Key)) + "=" + describeBytes(c.Expected)
	}
	return fmt.Sprintf("%T", c)
}

func describeMutation(m spi.Mutation) string {
	switch m := m.(type) {
	case spi.Put:
		s := "put " + quote(string(m.Key)) + " " + describeBytes(m.Bytes)
		if m.Retention != nil {
			s += " for " + describeRetention(*m.Retention)
		}
		return s
	case spi.Delete:
		return "delete " + quote(string(m.Key))
	}
	return fmt.Sprintf("%T", m)
}

// describeRetention shows whole milliseconds as such, also long ones.
func describeRetention(r spi.Retention) string {
	format := byte('g')
	if math.Abs(float64(r)) < 1e16 {
		format = 'f'
	}
	return strconv.FormatFloat(float64(r), format, -1, 64) + " ms"
}

func describeValue(v spi.Value) string {
	s := describeBytes(v.Bytes) + " version=" + quote(string(v.Version))
	if v.ExpiresAt != spi.NoExpiry {
		s += fmt.Sprintf(" expires=%d", v.ExpiresAt)
	}
	return s
}

// Difference says in which of its parts a value is not the wanted one, so that
// the two never look alike; "" if it is.
func Difference(want, got spi.Value) string {
	var parts []string
	part := func(name, want, got string) {
		if want == got {
			return
		}
		text := fmt.Sprintf("%s %s, expected %s", name, describeBytes([]byte(got)), describeBytes([]byte(want)))
		if at := firstDifference(want, got); max(len(want), len(got)) > maxShownBytes {
			text += fmt.Sprintf(" (they differ from byte %d on: %x, expected %x)", at, head(got[at:]), head(want[at:]))
		}
		parts = append(parts, text)
	}
	part("the bytes", string(want.Bytes), string(got.Bytes))
	part("the version", string(want.Version), string(got.Version))
	if want.ExpiresAt != got.ExpiresAt {
		parts = append(parts, fmt.Sprintf("the expiry %d, expected %d", got.ExpiresAt, want.ExpiresAt))
	}
	return strings.Join(parts, " and ")
}

func firstDifference(a, b string) int {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	return at
}

func head(s string) string { return s[:min(len(s), 8)] }

// describeBytes shows short bytes whole and long ones by length and head.
func describeBytes(b []byte) string {
	if len(b) <= maxShownBytes {
		return strconv.Quote(string(b))
	}
	return fmt.Sprintf("(%d bytes, %s…)", len(b), hex.EncodeToString(b[:8]))
}

// quote shows text so that NUL, spaces and all that is not printable, such as
// bidirectional overrides, are visible.
func quote(s string) string {
	if len(s) <= maxTextBytes {
		return strconv.Quote(s)
	}
	return fmt.Sprintf("%s…(%d bytes)", strconv.Quote(s[:maxTextBytes/2]), len(s))
}

func list[E any](es []E, describe func(E) string) string {
	var parts []string
	for i, e := range es {
		if i == maxListed {
			parts = append(parts, fmt.Sprintf("… %d more", len(es)-i))
			break
		}
		parts = append(parts, describe(e))
	}
	return strings.Join(parts, ", ")
}

func answer(r any, err error) string {
	if err != nil {
		return " → error " + clip(strconv.Quote(err.Error()), maxOperationBytes)
	}
	if r == nil {
		return " → done"
	}
	return " → " + clip(Describe(r), maxOperationBytes)
}

func bytesDiff(want, got []byte) string {
	at := 0
	for at < len(want) && at < len(got) && want[at] == got[at] {
		at++
	}
	around := func(b []byte) string {
		from, to := max(0, at-8), min(len(b), at+16)
		if from >= to {
			return "(ends here)"
		}
		return hex.EncodeToString(b[from:to])
	}
	return fmt.Sprintf("- expected %d bytes\n+ got %d bytes\nfirst difference at offset %d, with up to 8 "+
		"bytes before it:\n- %s\n+ %s",
		len(want), len(got), at, around(want), around(got))
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	cut := bytes.ToValidUTF8([]byte(s[:n]), nil)
	return fmt.Sprintf("%s… (%d more bytes)", cut, len(s)-len(cut))
}

func joinKinds(kinds []spi.ErrorKind) string {
	var s []string
	for _, k := range kinds {
		s = append(s, string(k))
	}
	return strings.Join(s, " or ")
}
