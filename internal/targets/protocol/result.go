package protocol

import (
	"encoding/hex"
	"fmt"

	"github.com/zlink-systems/zlink-conformance/spi"
)

func millis(m spi.Millis) *int64 { return (*int64)(&m) }

func newValue(v spi.Value) *Value {
	return &Value{Bytes: NewBytes(v.Bytes), Version: NewText(v.Version), ExpiresAt: millis(v.ExpiresAt)}
}

// NewResult returns the wire form of any result of the two stores, or nil if
// it is none.
func NewResult(result any) *Result {
	switch r := result.(type) {
	case spi.Missing:
		return &Result{Kind: KindMissing, StoreNow: millis(r.StoreNow)}
	case spi.Found:
		return &Result{Kind: KindFound, Value: newValue(r.Value), StoreNow: millis(r.StoreNow)}
	case spi.Applied:
		versions := make([]PutVersion, 0, len(r.PutVersions))
		for _, v := range r.PutVersions {
			versions = append(versions, PutVersion{Key: NewText(v.Key), Version: NewText(v.Version)})
		}
		return &Result{Kind: KindApplied, PutVersions: &versions, StoreNow: millis(r.StoreNow)}
	case spi.Conflict:
		return &Result{Kind: KindConflict, StoreNow: millis(r.StoreNow)}
	case spi.Page:
		items := make([]Item, 0, len(r.Items))
		for _, i := range r.Items {
			items = append(items, Item{Key: NewText(i.Key), Value: newValue(i.Value)})
		}
		return &Result{Kind: KindPage, Items: &items, Next: (*Text)(r.Next), StoreNow: millis(r.StoreNow)}
	case spi.Expired:
		return &Result{Kind: KindExpired}
	case spi.Stored:
		return &Result{Kind: KindStored, ExpiresAt: millis(r.ExpiresAt), StoreNow: millis(r.StoreNow)}
	case spi.AlreadyStored:
		return &Result{Kind: KindAlreadyStored, ExpiresAt: millis(r.ExpiresAt), StoreNow: millis(r.StoreNow)}
	case spi.BlobFound:
		return &Result{Kind: KindFound, Bytes: NewBytes(r.Bytes), ExpiresAt: millis(r.ExpiresAt), StoreNow: millis(r.StoreNow)}
	case spi.Renewed:
		return &Result{Kind: KindRenewed, ExpiresAt: millis(r.ExpiresAt), StoreNow: millis(r.StoreNow)}
	}
	return nil
}

// ReadResult returns the result of a location.read.
func (r *Result) ReadResult() (spi.ReadResult, error) {
	var s shape
	switch r.Kind {
	case KindMissing:
		return done(&s, spi.ReadResult(spi.Missing{StoreNow: s.millis("storeNow", r.StoreNow)}))
	case KindFound:
		return done(&s, spi.ReadResult(spi.Found{Value: s.value("value", r.Value), StoreNow: s.millis("storeNow", r.StoreNow)}))
	}
	return nil, wrongKind(r.Kind)
}

// WriteResult returns the result of a location.write.
func (r *Result) WriteResult() (spi.WriteResult, error) {
	var s shape
	switch r.Kind {
	case KindConflict:
		return done(&s, spi.WriteResult(spi.Conflict{StoreNow: s.millis("storeNow", r.StoreNow)}))
	case KindApplied:
		applied := spi.Applied{StoreNow: s.millis("storeNow", r.StoreNow)}
		if r.PutVersions == nil {
			return nil, missing("putVersions")
		}
		for i, v := range *r.PutVersions {
			at := fmt.Sprintf("putVersions[%d].", i)
			applied.PutVersions = append(applied.PutVersions, spi.PutVersion{
				Key: spi.Key(s.text(at+"key", v.Key)), Version: spi.Version(s.text(at+"version", v.Version))})
		}
		return done(&s, spi.WriteResult(applied))
	}
	return nil, wrongKind(r.Kind)
}

// ScanResult returns the result of a location.scan.
func (r *Result) ScanResult() (spi.ScanResult, error) {
	var s shape
	switch r.Kind {
	case KindExpired:
		return spi.Expired{}, nil
	case KindPage:
		page := spi.Page{Next: (*spi.Cursor)(r.Next), StoreNow: s.millis("storeNow", r.StoreNow)}
		if r.Items == nil {
			return nil, missing("items")
		}
		for i, item := range *r.Items {
			at := fmt.Sprintf("items[%d].", i)
			page.Items = append(page.Items, spi.Item{Key: spi.Key(s.text(at+"key", item.Key)),
				Value: s.value(at+"value", item.Value)})
		}
		return done(&s, spi.ScanResult(page))
	}
	return nil, wrongKind(r.Kind)
}

// BlobPutResult returns the result of a relocation.put.
func (r *Result) BlobPutResult() (spi.BlobPutResult, error) {
	var s shape
	now := s.millis("storeNow", r.StoreNow)
	switch r.Kind {
	case KindStored:
		return done(&s, spi.BlobPutResult(spi.Stored{ExpiresAt: s.millis("expiresAt", r.ExpiresAt), StoreNow: now}))
	case KindAlreadyStored:
		return done(&s, spi.BlobPutResult(spi.AlreadyStored{ExpiresAt: s.millis("expiresAt", r.ExpiresAt), StoreNow: now}))
	case KindConflict:
		return done(&s, spi.BlobPutResult(spi.Conflict{StoreNow: now}))
	}
	return nil, wrongKind(r.Kind)
}

// BlobReadResult returns the result of a relocation.read.
func (r *Result) BlobReadResult() (spi.BlobReadResult, error) {
	var s shape
	now := s.millis("storeNow", r.StoreNow)
	switch r.Kind {
	case KindMissing:
		return done(&s, spi.BlobReadResult(spi.Missing{StoreNow: now}))
	case KindFound:
		return done(&s, spi.BlobReadResult(spi.BlobFound{
			Bytes: s.b64("bytes", r.Bytes), ExpiresAt: s.millis("expiresAt", r.ExpiresAt), StoreNow: now}))
	}
	return nil, wrongKind(r.Kind)
}

// BlobRenewResult returns the result of a relocation.renew.
func (r *Result) BlobRenewResult() (spi.BlobRenewResult, error) {
	var s shape
	now := s.millis("storeNow", r.StoreNow)
	switch r.Kind {
	case KindMissing:
		return done(&s, spi.BlobRenewResult(spi.Missing{StoreNow: now}))
	case KindRenewed:
		return done(&s, spi.BlobRenewResult(spi.Renewed{ExpiresAt: s.millis("expiresAt", r.ExpiresAt), StoreNow: now}))
	}
	return nil, wrongKind(r.Kind)
}

// Digest is the result of a relocation.read with digest; Found is false for
// Missing.
type Digest struct {
	Found     bool
	Length    int64
	SHA256    [32]byte
	ExpiresAt spi.Millis
	StoreNow  spi.Millis
}

// NewDigestResult returns d's wire form.
func NewDigestResult(d Digest) *Result {
	if !d.Found {
		return &Result{Kind: KindMissing, StoreNow: millis(d.StoreNow)}
	}
	return &Result{Kind: KindFound, Bytes: &Bytes{Length: &d.Length, SHA256: hex.EncodeToString(d.SHA256[:])},
		ExpiresAt: millis(d.ExpiresAt), StoreNow: millis(d.StoreNow)}
}

// Digest returns the result of a relocation.read with digest.
func (r *Result) Digest() (Digest, error) {
	var s shape
	d := Digest{StoreNow: s.millis("storeNow", r.StoreNow)}
	switch r.Kind {
	case KindMissing:
		return done(&s, d)
	case KindFound:
		if r.Bytes == nil || r.Bytes.Length == nil {
			return d, missing("bytes.length")
		}
		sum, err := hex.DecodeString(r.Bytes.SHA256)
		if err != nil || len(sum) != len(d.SHA256) {
			return d, fmt.Errorf("the field %q is not 64 hexadecimal digits", "bytes.sha256")
		}
		d.Found, d.Length, d.SHA256 = true, *r.Bytes.Length, [32]byte(sum)
		d.ExpiresAt = s.millis("expiresAt", r.ExpiresAt)
		return done(&s, d)
	}
	return d, wrongKind(r.Kind)
}

// HeldBytes returns the result of a recheck.
func (r *Result) HeldBytes() ([]byte, error) {
	if r.Kind != KindHeld {
		return nil, wrongKind(r.Kind)
	}
	var s shape
	return done(&s, s.b64("bytes", r.Bytes))
}

// Surface returns the result of a surface.
func (r *Result) Surface() ([]string, error) {
	if r.Kind != KindSurface {
		return nil, wrongKind(r.Kind)
	}
	return r.Declarations, nil
}

// shape collects the first missing field of a result.
type shape struct{ err error }

func done[R any](s *shape, result R) (R, error) {
	if s.err != nil {
		var none R
		return none, s.err
	}
	return result, nil
}

func (s *shape) need(field string, there bool) bool {
	if !there && s.err == nil {
		s.err = missing(field)
	}
	return there
}

func (s *shape) millis(field string, m *int64) spi.Millis {
	if !s.need(field, m != nil) {
		return 0
	}
	return spi.Millis(*m)
}

func (s *shape) text(field string, t *Text) Text {
	if !s.need(field, t != nil) {
		return ""
	}
	return *t
}

func (s *shape) b64(field string, b *Bytes) []byte {
	if !s.need(field+".b64", b != nil && b.B64 != nil) {
		return nil
	}
	return *b.B64
}

func (s *shape) value(field string, v *Value) spi.Value {
	if !s.need(field, v != nil) {
		return spi.Value{}
	}
	return spi.Value{Bytes: s.b64(field+".bytes", v.Bytes), Version: spi.Version(s.text(field+".version", v.Version)),
		ExpiresAt: s.millis(field+".expiresAt", v.ExpiresAt)}
}

func wrongKind(kind string) error {
	if kind == "" {
		return missing("kind")
	}
	return fmt.Errorf("the field %q is %q, which is no result of this operation", "kind", kind)
}
