package redislayout

import (
	"fmt"
	"strings"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/redislayout/raw"
)

// memberCases: the bytes that the target writes (L9.member, L9.raw-bytes,
// L9.expiry-field).
func memberCases() []harness.Case {
	return []harness.Case{
		locationCase("member/key-widths", "Keys on both sides of every str width are written as Redis's cmsgpack writes them.",
			"L9.member", func(t *harness.T) {
				for _, n := range []int{1, 31, 32, 255, 256, 1023, 1024} {
					checkPut(t, spi.Key(strings.Repeat("k", n)), []byte("v"), nil)
				}
				checkPut(t, spi.Key(strings.Repeat("é", 16)), []byte("v"), nil) // 16 characters, 32 bytes
			}),
		locationCase("member/value-widths", "Values on both sides of every str width are written as "+
			"Redis's cmsgpack writes them.", "L9.member", func(t *harness.T) {
			for _, n := range []int{0, 1, 31, 32, 255, 256, 65535, 65536, spi.MaxValueBytes} {
				checkPut(t, spi.Key(fmt.Sprint("value of ", n)), t.RandomBytes(n), nil)
			}
		}),
		locationCase("member/expiry", "expiresAtMs is the expiry that the store reports, as the smallest unsigned "+
			"integer, and 0 for none.", "L9.expiry-field L9.member", func(t *harness.T) {
			for _, retention := range []*spi.Retention{nil, spi.For(60_000), spi.For(hour), spi.For(24 * hour),
				spi.For(3650 * 24 * hour)} {
				checkPut(t, "k", []byte("v"), retention)
			}
			checkPut(t, "k", []byte("durable again"), nil)
		}),
		locationCase("member/expiry-fraction", "A retention with a fraction of a millisecond is stored as a whole "+
			"number of milliseconds.", "L9.expiry-field L9.member",
			func(t *harness.T) { checkPut(t, "k", []byte("v"), spi.For(hour+0.5)) }),
		locationCase("member/raw-bytes", "A value stands in its member as it is, be it all 256 bytes, text, "+
			"JSON, digits or base64.", "L9.raw-bytes L9.member", func(t *harness.T) {
			every := harness.EveryByte()
			for i, value := range [][]byte{every, []byte("text"), []byte(`{"recordVersion":1}`), []byte("12345"),
				[]byte("AQIDBA=="), {0}, {0x01, 0x95}, []byte("\xff\xfe")} {
				checkPut(t, spi.Key(fmt.Sprint("k", i)), value, nil)
			}
		}),
		locationCase("member/batch", "Every Put of a batch writes its own member with the version that Applied names for it.",
			"L9.member L4.applied", batchMembers),
	}
}

// checkPut puts a value and compares the record's bytes with what the store
// says of it, and with what Redis's own encoder makes of that.
func checkPut(t *harness.T, key spi.Key, value []byte, retention *spi.Retention) {
	version := t.Location().MustPut(key, value, retention)
	found := t.Location().MustFind(key)
	e := raw.On(t).Current(key)
	m := e.Member
	what := fmt.Sprintf("of %.40q (key of %d bytes, value of %d)", key, len(key), len(value))
	t.Checkf(m.Key == string(key), "L9.member", "the key in the member %s is %.60q", what, m.Key)
	t.EqualBytes("L9.raw-bytes", "the value in the member "+what, value, m.Value)
	t.Checkf(m.Version == string(version) && found.Value.Version == version, "L9.member",
		"the version in the member %s is %q, the Put answered %q and a read %q", what, m.Version, version, found.Value.Version)
	t.Checkf(m.ExpiresAt == found.Value.ExpiresAt, "L9.expiry-field",
		"the expiry in the member %s is %d, but the store reports %d", what, m.ExpiresAt, found.Value.ExpiresAt)
	t.Checkf((m.ExpiresAt == spi.NoExpiry) == (retention == nil), "L9.expiry-field", "the expiry in the member %s is %d", what,
		m.ExpiresAt)
	t.Checkf(!m.Tombstone, "L9.tombstone", "the member %s is a tombstone", what)
	t.EqualBytes("L9.member", "the member "+what+", beside the one that Redis's cmsgpack writes,", raw.On(t).Pack(m), e.Bytes)
}

func batchMembers(t *harness.T) {
	var request spi.WriteRequest
	for i := range 20 {
		request.Mutations = append(request.Mutations,
			spi.Put{Key: spi.Key(fmt.Sprint("k", i)), Bytes: fmt.Appendf(nil, "value %d", i)})
	}
	versions := map[spi.Key]spi.Version{}
	for _, p := range t.Location().MustApply(request).PutVersions {
		versions[p.Key] = p.Version
	}
	for _, m := range request.Mutations {
		p := m.(spi.Put)
		e := raw.On(t).Current(p.Key)
		t.EqualBytes("L9.raw-bytes", fmt.Sprintf("the value in the member of %q", p.Key), p.Bytes, e.Member.Value)
		t.Checkf(e.Member.Version == string(versions[p.Key]), "L9.member",
			"the version in the member of %q is %q, but Applied names %q", p.Key, e.Member.Version, versions[p.Key])
	}
}
