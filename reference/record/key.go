// Package record holds the framework's records as the Location Store keeps
// them: the preimages that become logical keys, and the canonical compact JSON
// that becomes a value (L9.recordversion, L9.golden).
package record

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// The record names that open a preimage.
const (
	nameMeshNode         = "mesh-node"
	nameOwnerLease       = "owner-lease"
	nameClientServer     = "client-server"
	nameFanoutPublisher  = "fanout-publisher"
	nameAuthority        = "authority"
	nameCreationTerminal = "creation-terminal"
)

// Separator stands between the parts of a preimage, which is why no part may
// hold it.
const Separator = "\x00"

// MaxRoutingIDBytes bounds a RoutingId, in bytes.
const MaxRoutingIDBytes = 255

// AuthorityKind is the kind of object that an authority record owns.
type AuthorityKind string

// The two kinds of authority.
const (
	ActorAuthority AuthorityKind = "actor"
	SpotAuthority  AuthorityKind = "spot"
)

// OperationID names one creation: 128 bits as two words.
type OperationID struct{ High, Low uint64 }

// String is the ID as 32 lowercase hex digits.
func (id OperationID) String() string { return fmt.Sprintf("%016x%016x", id.High, id.Low) }

// MeshNodeKey is the logical key of a mesh node's descriptor.
func MeshNodeKey(meshName string, routingID []byte) (spi.Key, error) {
	return preimage(nameMeshNode, text("mesh name", meshName), routing(routingID))
}

// OwnerLeaseKey is the logical key of an owner's lease.
func OwnerLeaseKey(ownerID string) (spi.Key, error) {
	return preimage(nameOwnerLease, text("owner ID", ownerID))
}

// ClientServerKey is the logical key of a channel server's descriptor.
func ClientServerKey(channelName string, serverRoutingID []byte) (spi.Key, error) {
	return preimage(nameClientServer, text("channel name", channelName), routing(serverRoutingID))
}

// FanoutPublisherKey is the logical key of a fanout publisher's descriptor.
func FanoutPublisherKey(channelName string, publisherRoutingID []byte) (spi.Key, error) {
	return preimage(nameFanoutPublisher, text("channel name", channelName), routing(publisherRoutingID))
}

// AuthorityKey is the logical key of the authority over one actor or spot.
func AuthorityKey(kind AuthorityKind, identity string) (spi.Key, error) {
	k := text("authority kind", string(kind))
	if k.err == nil && kind != ActorAuthority && kind != SpotAuthority {
		k.err = spi.Argument("authority kind is %q: use %q or %q", kind, ActorAuthority, SpotAuthority)
	}
	return preimage(nameAuthority, k, text("identity", identity))
}

// CreationTerminalKey is the logical key of the end of one creation, asked for
// by the host that has sourceRoutingID in its life hostGeneration (1..2^63-1).
func CreationTerminalKey(sourceRoutingID []byte, hostGeneration int64, operation OperationID) (spi.Key, error) {
	g := part{text: strconv.FormatInt(hostGeneration, 10)}
	if hostGeneration < 1 {
		g.err = spi.Argument("host generation is %d: it starts at 1", hostGeneration)
	}
	return preimage(nameCreationTerminal, routing(sourceRoutingID), g, part{text: operation.String()})
}

// part is one part of a preimage, or why it cannot be one.
type part struct {
	text string
	err  error
}

func text(name, s string) part {
	switch {
	case s == "":
		return part{err: spi.Argument("%s is empty", name)}
	case !utf8.ValidString(s):
		return part{err: spi.Argument("%s is not valid UTF-8", name)}
	case strings.Contains(s, Separator):
		return part{err: spi.Argument("%s contains a NUL, which separates the parts of a key", name)}
	}
	return part{text: s}
}

func routing(id []byte) part {
	if len(id) < 1 || len(id) > MaxRoutingIDBytes {
		return part{err: spi.Argument("routing ID has %d bytes: it must have 1 to %d", len(id), MaxRoutingIDBytes)}
	}
	return part{text: hex.EncodeToString(id)}
}

func preimage(name string, parts ...part) (spi.Key, error) {
	joined := []string{name}
	for _, p := range parts {
		if p.err != nil {
			return "", p.err
		}
		joined = append(joined, p.text)
	}
	key := strings.Join(joined, Separator)
	if len(key) > spi.MaxKeyBytes {
		return "", spi.Argument("the %s key has %d bytes: at most %d are allowed", name, len(key), spi.MaxKeyBytes)
	}
	return spi.Key(key), nil
}
