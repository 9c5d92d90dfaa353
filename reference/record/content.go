package record

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

// inlineForm opens the only form of a content reference: the content itself, in
// base64url without padding.
const inlineForm = "inline-v1:"

// EncodeContentReference returns the reference that carries a creation
// request's content within itself (L9.golden).
func EncodeContentReference(content []byte) string {
	return inlineForm + base64.RawURLEncoding.EncodeToString(content)
}

// DecodeContentReference returns the content that a reference carries. Any
// other form, spelling or padding than EncodeContentReference's is an error.
func DecodeContentReference(reference string) ([]byte, error) {
	text, ok := strings.CutPrefix(reference, inlineForm)
	if !ok {
		return nil, fmt.Errorf("content reference %.40q does not begin with %q", reference, inlineForm)
	}
	// The decoder skips line breaks.
	content, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || EncodeContentReference(content) != reference {
		return nil, fmt.Errorf("content reference %.40q is not base64url without padding behind %q", reference, inlineForm)
	}
	return content, nil
}

// Content returns the content of the request, which must have the digest and
// the size that the record states.
func (p PendingCreation) Content() ([]byte, error) {
	content, err := DecodeContentReference(p.RequestContentReference)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != string(p.RequestSHA256) {
		return nil, fmt.Errorf("the content has the SHA-256 %x, not %s", sum, p.RequestSHA256)
	}
	if len(content) != int(p.RequestEncodedSize) {
		return nil, fmt.Errorf("the content has %d bytes, not %d", len(content), p.RequestEncodedSize)
	}
	return content, nil
}
