package spicases

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// Version: opaque UTF-8 of 1 to 4,096 bytes that the provider issues.
func versionForm(t *harness.T) {
	l := t.Location()
	puts := []spi.Put{put("k", ""), put("K", "value"), putFor("expiring", "value", 60000),
		put(spi.Key(strings.Repeat("k", spi.MaxKeyBytes)), "long")}
	for range 3 {
		for k, v := range seed(l, puts...) {
			t.Checkf(len(v.Version) >= 1 && len(v.Version) <= spi.MaxVersionBytes, "L3.version-form",
				"the version of %.20q has %d bytes", k, len(v.Version))
			t.Checkf(utf8.ValidString(string(v.Version)), "L3.version-form", "the version of %.20q is no UTF-8: %.80q", k,
				v.Version)
		}
	}
}

// issued are the versions that a key was given so far. It is safe for
// concurrent use.
type issued struct {
	mu    sync.Mutex
	count map[spi.Version]string
}

func (i *issued) add(t *harness.T, v spi.Version, when string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.count == nil {
		i.count = map[spi.Version]string{}
	}
	if before, again := i.count[v]; again {
		t.Failf("L3.version-fresh", "version %.80q was issued %s and again %s", v, before, when)
	}
	i.count[v] = when
}

// Every Put issues a new version, and none comes back: not for the same bytes,
// not after Delete and recreation, and not after expiry.
func versionFresh(t *harness.T) {
	l := instances(t, 2)
	var versions issued
	step := 0
	putOnce := func(retention *spi.Retention) {
		step++
		versions.add(t, l[step%2].MustPut("k", []byte("same"), retention), fmt.Sprintf("at Put %d", step))
	}
	for range 20 {
		putOnce(nil)
	}
	for range 20 {
		l[0].MustDelete("k")
		putOnce(nil)
	}
	for range 3 {
		putOnce(spi.For(20))
		if f, ok := l[0].MustRead("k").(spi.Found); ok {
			awaitExpiry(t, f.Value.ExpiresAt)
		}
		putOnce(nil)
		putOnce(spi.For(20))
		l[1].MustDelete("k")
	}
	for range 5 {
		l[0].MustDelete("k")
		l[1].MustDelete("k")
		putOnce(nil)
	}
}

func versionFreshInstances(t *harness.T) {
	l := instances(t, 4)
	var versions issued
	t.Concurrently(8, func(i int) {
		for n := range 15 {
			versions.add(t, l[i%4].MustPut("k", []byte("same"), nil), fmt.Sprintf("by writer %d at its Put %d", i, n))
		}
	})
}

// The danger behind fresh versions: whoever read the first value must not
// succeed after the key went away and came back with the same bytes.
func versionABA(t *harness.T) {
	l := t.Location()
	first := l.MustPut("k", []byte("a"), nil)
	change := write(given(ifVersion("k", first)), put("k", "stale"))
	for _, way := range []struct {
		name string
		do   func()
	}{
		{"a Put of the same bytes", func() { l.MustPut("k", []byte("a"), nil) }},
		{"Puts of other and the same bytes", func() { l.MustPut("k", []byte("b"), nil); l.MustPut("k", []byte("a"), nil) }},
		{"Delete and recreation", func() { l.MustDelete("k"); l.MustPut("k", []byte("a"), nil) }},
		{"two Deletes and recreation", func() { l.MustDelete("k"); l.MustDelete("k"); l.MustPut("k", []byte("a"), nil) }},
	} {
		way.do()
		_, conflict := l.MustWrite(change).(spi.Conflict)
		t.Checkf(conflict, "L3.version-fresh", "after %s the first version held again", way.name)
	}
}
