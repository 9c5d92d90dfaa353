package record

import (
	"strings"
	"testing"
)

// The golden content: its reference and digest are given by the contract
// (L9.golden); the digest is sha256sum's too.
const (
	goldenContent   = "zlink create room:1 request\xfb\xff\xff"
	goldenReference = "inline-v1:emxpbmsgY3JlYXRlIHJvb206MSByZXF1ZXN0-___"
	goldenDigest    = "580760e788ca95937dc4c9b9c2228af28e0ac6237381e8cfe429d32b40310db0"
)

func TestContentReference(t *testing.T) {
	if got := EncodeContentReference([]byte(goldenContent)); got != goldenReference {
		t.Errorf("encoded: %s", got)
	}
	if got, err := DecodeContentReference(goldenReference); err != nil || string(got) != goldenContent {
		t.Errorf("decoded: %q, %v", got, err)
	}
	if got, err := DecodeContentReference("inline-v1:"); err != nil || len(got) != 0 {
		t.Errorf("no content: %q, %v", got, err)
	}
	for _, bad := range []string{
		"", "inline-v1", "inline-v2:eg", "INLINE-v1:eg", " inline-v1:eg", "inline-v1:eg==", "inline-v1:eg ", "inline-v1:eg\n",
		"inline-v1:e\ng",
		"inline-v1:+/8", "inline-v1:eh", "inline-v1:e", "inline-v1:a2ad96cf:emxpbmsgY3JlYXRlIHJvb206MSByZXF1ZXN0-___",
	} {
		if got, err := DecodeContentReference(bad); err == nil {
			t.Errorf("%q: got %q, want an error", bad, got)
		}
	}
}

func TestContentOfAPendingCreation(t *testing.T) {
	right := PendingCreation{
		ReservationID: "r", RequestContentReference: goldenReference, RequestSHA256: goldenDigest, RequestEncodedSize: 30,
	}
	if got, err := right.Content(); err != nil || string(got) != goldenContent {
		t.Errorf("got %q, %v", got, err)
	}
	for want, change := range map[string]func(*PendingCreation){
		"base64url": func(p *PendingCreation) {
			p.RequestContentReference = strings.Replace(p.RequestContentReference, ":", ":a2ad96cf:", 1)
		},
		"SHA-256":      func(p *PendingCreation) { p.RequestSHA256 = Hex(strings.Repeat("2", 64)) },
		"30 bytes":     func(p *PendingCreation) { p.RequestEncodedSize = 31 },
		"inline-v1":    func(p *PendingCreation) { p.RequestContentReference = "store-v1:x" },
		"580760e788ca": func(p *PendingCreation) { p.RequestSHA256 = Hex(strings.ToUpper(goldenDigest)) },
	} {
		wrong := right
		change(&wrong)
		if _, err := wrong.Content(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error that says %s", err, want)
		}
	}
}
