package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Text is a key, prefix, version, cursor or reference: a JSON string if it is
// valid UTF-8, else {"b64": its bytes}. In the bytes, an unpaired UTF-16
// surrogate has the three-byte form that UTF-8 forbids (ED A0..BF 80..BF).
type Text string

// MarshalJSON writes the string, or the bytes if it is no valid UTF-8.
func (t Text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	b := []byte(t)
	return json.Marshal(Bytes{B64: &b})
}

// UnmarshalJSON reads either form. A string that is no valid Unicode is an
// error, because a JSON decoder would silently replace it.
func (t *Text) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		var b Bytes
		if err := json.Unmarshal(data, &b); err != nil {
			return err
		}
		if b.B64 == nil {
			return errors.New(`a text object must have the field "b64"`)
		}
		*t = Text(*b.B64)
		return nil
	}
	// Most texts need no decoding: encoding/json has checked that data is a
	// JSON value already, and thousands of them stand in one batch.
	if len(data) >= 2 && data[0] == '"' && bytes.IndexByte(data, '\\') < 0 && utf8.Valid(data) {
		*t = Text(data[1 : len(data)-1])
		return nil
	}
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	if strings.ContainsRune(s, utf8.RuneError) && !bytes.Contains(data, []byte("\ufffd")) &&
		!bytes.Contains(bytes.ToLower(data), []byte(`\ufffd`)) {
		return errors.New(`a text string is not valid Unicode: send it as {"b64": ...}`)
	}
	*t = Text(s)
	return nil
}

// Bytes is byte content in one of three forms: as base64, described by a fill,
// or digested to length and SHA-256.
type Bytes struct {
	B64    *[]byte `json:"b64,omitempty"`
	Fill   *Fill   `json:"fill,omitempty"`
	Length *int64  `json:"length,omitempty"`
	SHA256 string  `json:"sha256,omitempty"` // 64 lowercase hexadecimal digits
}

// NewBytes carries b as base64.
func NewBytes(b []byte) *Bytes {
	if b == nil {
		b = []byte{}
	}
	return &Bytes{B64: &b}
}

// Content returns the bytes that b carries or describes.
func (b *Bytes) Content() ([]byte, error) {
	switch {
	case b == nil:
		return nil, errors.New("bytes are missing")
	case b.B64 != nil:
		return *b.B64, nil
	case b.Fill != nil:
		if err := b.Fill.Check(); err != nil {
			return nil, err
		}
		return b.Fill.Bytes(), nil
	}
	return nil, errors.New(`bytes must have the field "b64" or "fill"`)
}

// MaxFillBytes bounds the length of a Fill.
const MaxFillBytes = 256 << 20

// Fill describes bytes instead of carrying them: byte i is the top byte of
// (Seed+i)*2654435761 modulo 2^32, and then each patch [offset, byte] is
// written over it.
type Fill struct {
	Length int64      `json:"length"`
	Seed   uint32     `json:"seed"`
	Patch  [][2]int64 `json:"patch,omitempty"`
}

// Check reports a length or patch out of bounds.
func (f Fill) Check() error {
	if f.Length < 0 || f.Length > MaxFillBytes {
		return fmt.Errorf("fill length %d is not in 0..%d", f.Length, MaxFillBytes)
	}
	for _, p := range f.Patch {
		if p[0] < 0 || p[0] >= f.Length || p[1] < 0 || p[1] > 255 {
			return fmt.Errorf("fill patch [%d, %d] is out of bounds", p[0], p[1])
		}
	}
	return nil
}

// Bytes makes the described bytes.
func (f Fill) Bytes() []byte {
	b := make([]byte, f.Length)
	x := f.Seed * 2654435761
	for i := range b {
		b[i] = byte(x >> 24)
		x += 2654435761
	}
	for _, p := range f.Patch {
		b[p[0]] = byte(p[1])
	}
	return b
}
