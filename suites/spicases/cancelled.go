package spicases

import (
	"context"
	"strings"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// cancelledToken is a token that was cancelled before any operation sees it.
func cancelledToken(t *harness.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func cancelledLocation(t *harness.T) {
	p := t.Proxy(nil)
	l := t.Target().OpenLocation(harness.Store{Proxy: p})
	l.MustPut("kept", []byte("v"), nil)
	before := look(l, "kept")
	ctx := cancelledToken(t)
	for _, a := range []attempt[*harness.Location]{
		{what: "a Read", try: func(l *harness.Location) error { _, err := l.Read(ctx, "kept"); return err }},
		{what: "a Put", try: func(l *harness.Location) error { _, err := l.Write(ctx, write(nil, put("new", "v"))); return err }},
		{what: "an overwriting Put", try: func(l *harness.Location) error {
			_, err := l.Write(ctx, write(nil, put("kept", "w")))
			return err
		}},
		{what: "a Delete", try: func(l *harness.Location) error {
			_, err := l.Write(ctx, write(nil, del("kept")))
			return err
		}},
		{what: "a Scan", try: func(l *harness.Location) error { _, err := l.Scan(ctx, spi.ScanRequest{Limit: 10}); return err }},
	} {
		var err error
		sent := sentBy(p, func() { err = a.try(l) })
		t.ErrorKind("L6.cancel-before", a.what+" that was cancelled beforehand", err, spi.KindCancelled)
		t.Checkf(len(sent) == 0, "L6.cancel-before", "%s that was cancelled beforehand sent to Redis: %s", a.what,
			strings.Join(sent, ", "))
	}
	same(t, "L6.cancel-before", "the store after the cancelled operations", before, look(l, "kept", "new"))
}

func cancelledRelocation(t *harness.T) {
	p := t.Proxy(nil)
	r := t.Target().OpenRelocation(harness.Store{Proxy: p})
	_, given := store(t, r, "kept", []byte("v"), hour)
	ctx := cancelledToken(t)
	for _, ref := range []spi.Reference{"kept", "new"} {
		for what, operation := range blobOperations(ctx, ref, day) {
			var err error
			sent := sentBy(p, func() { err = operation(r) })
			t.ErrorKind("R5.cancel-before", what+" that was cancelled beforehand", err, spi.KindCancelled)
			t.Checkf(len(sent) == 0, "R5.cancel-before", "%s that was cancelled beforehand sent to Redis: %s", what,
				strings.Join(sent, ", "))
		}
	}
	f := given.find(t, r, "kept", "R5.cancel-before", "the expiry after the cancelled operations")
	t.EqualBytes("R5.cancel-before", "the payload after the cancelled operations", []byte("v"), f.Bytes)
	r.MustMiss("new")
}
