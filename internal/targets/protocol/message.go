// Package protocol is the adapter protocol, version 1: the messages that the
// harness and an adapter process exchange as lines of JSON over stdin and
// stdout. docs/adapter-protocol.md defines it for authors in any language.
package protocol

import (
	"math"
	"slices"
	"unicode/utf8"
)

// Version is the protocol version that this package speaks.
const Version = 1

// MaxLineBytes bounds a line in either direction, without its "\n". The
// largest blob, 64 MiB + 23 bytes, fits as base64.
const MaxLineBytes = 96 << 20

// EnvVersion is the environment variable that tells an adapter process which
// protocol version the harness speaks.
const EnvVersion = "ZLINK_CONFORMANCE_PROTOCOL"

// Operations.
const (
	OpHello            = "hello"
	OpOpen             = "open"
	OpClose            = "close"
	OpCancel           = "cancel"
	OpRecheck          = "recheck"
	OpSurface          = "surface"
	OpLocationRead     = "location.read"
	OpLocationWrite    = "location.write"
	OpLocationScan     = "location.scan"
	OpRelocationPut    = "relocation.put"
	OpRelocationRead   = "relocation.read"
	OpRelocationRenew  = "relocation.renew"
	OpRelocationDelete = "relocation.delete"
)

// Kinds of results.
const (
	KindHello         = "hello"
	KindOpened        = "opened"
	KindClosed        = "closed"
	KindCancelling    = "cancelling"
	KindHeld          = "held"
	KindSurface       = "surface"
	KindMissing       = "missing"
	KindFound         = "found"
	KindApplied       = "applied"
	KindConflict      = "conflict"
	KindPage          = "page"
	KindExpired       = "expired"
	KindStored        = "stored"
	KindAlreadyStored = "alreadyStored"
	KindRenewed       = "renewed"
	KindDeleted       = "deleted"
)

// Kinds of conditions and mutations. A missing condition has KindMissing.
const (
	KindVersion = "version"
	KindValue   = "value"
	KindPut     = "put"
	KindDelete  = "delete"
)

// Request is a message of the harness. ID and Op are always there; the other
// fields belong to the operations that their comments name.
type Request struct {
	ID        int64  `json:"id"`
	Op        string `json:"op"`
	Protocol  int    `json:"protocol,omitempty"`  // hello
	Of        int64  `json:"of,omitempty"`        // cancel, recheck: the ID of another request
	Handle    int64  `json:"handle,omitempty"`    // open, close and every operation of a store
	Cancelled bool   `json:"cancelled,omitempty"` // the token is cancelled before the operation starts
	Hold      bool   `json:"hold,omitempty"`      // reads: keep the provider's buffer for recheck
	Digest    bool   `json:"digest,omitempty"`    // relocation.read: answer length and SHA-256, not the bytes

	// open
	Store              string    `json:"store,omitempty"`
	Redis              *ConnInfo `json:"redis,omitempty"`
	KeyPrefix          string    `json:"keyPrefix,omitempty"`
	OperationTimeoutMs int64     `json:"operationTimeoutMs,omitempty"` // 0: the provider's default
	Share              int64     `json:"share,omitempty"`              // handle of the store to share a connection with

	// location.*
	Key        *Text       `json:"key,omitempty"`
	Conditions []Condition `json:"conditions,omitempty"`
	Mutations  []Mutation  `json:"mutations,omitempty"`
	Prefix     *Text       `json:"prefix,omitempty"`
	Cursor     *Text       `json:"cursor,omitempty"`
	Limit      *int        `json:"limit,omitempty"`

	// relocation.*
	Reference   *Text    `json:"reference,omitempty"`
	Payload     *Bytes   `json:"payload,omitempty"`
	RetentionMs *float64 `json:"retentionMs,omitempty"`
}

// Unusual names what the request holds that a language, a type or an adapter may
// have no way to express, "" if nothing: its answer may then be "unsupported".
func (r *Request) Unusual() string {
	texts, retentions := []*Text{r.Key, r.Prefix, r.Cursor, r.Reference}, []*float64{r.RetentionMs}
	for _, c := range r.Conditions {
		texts = append(texts, c.Key, c.Version)
	}
	for _, m := range r.Mutations {
		texts, retentions = append(texts, m.Key), append(retentions, m.RetentionMs)
	}
	switch {
	case !utf8.ValidString(r.KeyPrefix), slices.ContainsFunc(texts,
		func(t *Text) bool { return t != nil && !utf8.ValidString(string(*t)) }):
		return "text that is no valid Unicode"
	case slices.ContainsFunc(retentions, func(ms *float64) bool { return ms != nil && !isInt64(*ms) }):
		return "a retention that is no 64-bit integer"
	case r.Hold || r.Op == OpRecheck:
		return "holding on to a result's buffer"
	}
	return ""
}

// isInt64 reports whether a 64-bit integer holds the number.
func isInt64(f float64) bool { return f == math.Trunc(f) && math.Abs(f) < 1<<63 }

// ConnInfo says where a store's Redis is and how to log in.
type ConnInfo struct {
	URL      string `json:"url,omitempty"` // the same as a redis://, rediss:// or unix:// URL
	Host     string `json:"host,omitempty"`
	Port     int    `json:"port,omitempty"`
	Socket   string `json:"socket,omitempty"` // path of a unix socket, instead of host and port
	DB       int    `json:"db"`
	Username string `json:"username,omitempty"`
	Password string `json:"password,omitempty"`
	TLS      bool   `json:"tls"`
	CAFile   string `json:"caFile,omitempty"` // PEM file of the authority to trust, if not the system's
}

// Condition is a condition of location.write: kind missing, version or value.
type Condition struct {
	Kind    string `json:"kind"`
	Key     *Text  `json:"key"`
	Version *Text  `json:"version,omitempty"` // version
	Bytes   *Bytes `json:"bytes,omitempty"`   // value
}

// Mutation is a mutation of location.write: kind put or delete.
type Mutation struct {
	Kind        string   `json:"kind"`
	Key         *Text    `json:"key"`
	Bytes       *Bytes   `json:"bytes,omitempty"`       // put
	RetentionMs *float64 `json:"retentionMs,omitempty"` // put; absent: durable
}

// Answer is a message of the adapter: a result or an error for one request.
type Answer struct {
	ID     *int64  `json:"id"`
	Result *Result `json:"result,omitempty"`
	Error  *Error  `json:"error,omitempty"`
}

// Error is a failed operation; Kind is an spi.ErrorKind.
type Error struct {
	Kind    string `json:"kind"`
	Type    string `json:"type,omitempty"`
	Message string `json:"message"`
}

// Result is a closed result; Kind says which fields are there.
type Result struct {
	Kind string `json:"kind"`
	*Info
	Declarations []string      `json:"declarations,omitempty"` // surface
	Value        *Value        `json:"value,omitempty"`        // found (location)
	Bytes        *Bytes        `json:"bytes,omitempty"`        // found (relocation), held
	ExpiresAt    *int64        `json:"expiresAt,omitempty"`    // found (relocation), stored, alreadyStored, renewed
	PutVersions  *[]PutVersion `json:"putVersions,omitempty"`  // applied
	Items        *[]Item       `json:"items,omitempty"`        // page
	Next         *Text         `json:"next,omitempty"`         // page; absent on the last one
	StoreNow     *int64        `json:"storeNow,omitempty"`     // missing, found, applied, conflict, page, stored, ...
}

// Value is a stored value of the Location Store.
type Value struct {
	Bytes     *Bytes `json:"bytes"`
	Version   *Text  `json:"version"`
	ExpiresAt *int64 `json:"expiresAt"`
}

// PutVersion is the version that a put of a batch was given.
type PutVersion struct {
	Key     *Text `json:"key"`
	Version *Text `json:"version"`
}

// Item is a record of a page.
type Item struct {
	Key   *Text  `json:"key"`
	Value *Value `json:"value"`
}

// Info is what a target says of itself in its hello.
type Info struct {
	Protocol     int      `json:"protocol"`
	Provider     string   `json:"provider"`
	Language     string   `json:"language"`
	Version      string   `json:"version"`
	Stores       []string `json:"stores"`
	Layout       string   `json:"layout"`
	Capabilities []string `json:"capabilities"`
}

// Has reports whether the target announced the capability.
func (i Info) Has(capability string) bool { return slices.Contains(i.Capabilities, capability) }

// Offers reports whether the target offers the store.
func (i Info) Offers(store string) bool { return slices.Contains(i.Stores, store) }
