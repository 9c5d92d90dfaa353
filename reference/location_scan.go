package reference

import (
	"context"
	"unicode/utf8"

	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// Scan returns one page of a snapshot, or spi.Expired if the cursor belongs to
// no open snapshot of this prefix (L5.snapshot, L5.expired). A snapshot lives
// for a minute from its first page, so that a page can be read again.
func (l *Location) Scan(ctx context.Context, request spi.ScanRequest) (spi.ScanResult, error) {
	if err := validateScan(request); err != nil {
		return nil, err
	}
	at := position{snapshot: newSnapshotID()}
	if request.Cursor != nil {
		var ok bool
		if at, ok = decodeCursor(*request.Cursor); !ok {
			return expiredCursor(l.ready(ctx))
		}
	}
	r, err := l.eval(ctx, l.scan, layout.IndexKey(l.prefix),
		layout.Namespace(l.prefix), at.snapshot.text(), request.Prefix, endOfPrefix(request.Prefix), at.after,
		request.Limit, spi.MaxPageBytes)
	if err != nil {
		return nil, err
	}
	kind, err := r.text(0)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "expired":
		return spi.Expired{}, nil
	case "page":
		return readPage(r, at)
	}
	return nil, storeFailure(errReply)
}

func validateScan(request spi.ScanRequest) error {
	if err := validateText("prefix", request.Prefix, 0, spi.MaxPrefixBytes); err != nil {
		return err
	}
	if request.Limit < 1 || request.Limit > spi.MaxScanLimit {
		return spi.Argument("limit is %d, want 1..%d", request.Limit, spi.MaxScanLimit)
	}
	if c := request.Cursor; c != nil && (len(*c) < 1 || len(*c) > spi.MaxCursorBytes) {
		return spi.Argument("cursor is %d bytes long, want 1..%d", len(*c), spi.MaxCursorBytes)
	}
	return nil
}

// expiredCursor is Expired, unless the operation may not run at all.
func expiredCursor(err error) (spi.ScanResult, error) {
	if err != nil {
		return nil, err
	}
	return spi.Expired{}, nil
}

// endOfPrefix is the exclusive end, as ZRANGEBYLEX wants it, of the keys that
// start with the bytes of prefix. The last byte can be counted up because UTF-8
// never contains 0xff.
func endOfPrefix(prefix string) string {
	if prefix == "" {
		return "+"
	}
	last := len(prefix) - 1
	return "(" + prefix[:last] + string([]byte{prefix[last] + 1})
}

func readPage(r reply, at position) (spi.ScanResult, error) {
	now, err := r.millis(1)
	if err != nil {
		return nil, err
	}
	after, err := r.text(2)
	if err != nil {
		return nil, err
	}
	page := spi.Page{StoreNow: now, Items: make([]spi.Item, 0, len(r)-3)}
	for i := 3; i < len(r); i++ {
		raw, err := r.text(i)
		if err != nil {
			return nil, err
		}
		member, err := decodeMember(raw)
		if err != nil {
			return nil, err
		}
		if !utf8.ValidString(member.Key) {
			return nil, storeFailure(errReply)
		}
		page.Items = append(page.Items, spi.Item{Key: spi.Key(member.Key), Value: valueOf(member)})
	}
	if after != "" {
		next := encodeCursor(position{snapshot: at.snapshot, after: after})
		page.Next = &next
	}
	return page, nil
}
