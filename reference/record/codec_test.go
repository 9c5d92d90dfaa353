package record

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The compact JSON of the golden value vectors, written out from the fixture's
// description in the contract (L9.golden).
const (
	goldenMeshNode = `{"recordVersion":1,"ownerId":"owner-a","leaseGeneration":"5","descriptorRevision":"3",` +
		`"descriptor":{"meshName":"main","routingIdHex":"01020304","lifecycleGeneration":"1","descriptorRevision":"3",` +
		`"endpoint":"tcp://node-a:5000","entrySpotId":"entry-1","channelWeights":{"billing":100},"applicationVersion":"2",` +
		`"objectCapabilities":[{"objectKind":"actor","stableType":"chat","policy":"disabled","hasSnapshotAdapter":false,` +
		`"limit":0},` +
		`{"objectKind":"userSpot","stableType":"game","policy":"snapshot","hasSnapshotAdapter":true,"limit":500}],` +
		`"objectRole":"server","placementWeight":100,"capacity":{"actors":{"active":3,"reserved":1,"limit":0},` +
		`"spots":{"active":2,"reserved":0,"limit":100},"spotTypes":[{"objectKind":"userSpot","stableType":"game","active":2,` +
		`"reserved":0,"limit":100}]},"activationConcurrency":{"active":0,"limit":128},"maintenanceWave":null,"state":"serving",` +
		`"securityIdentity":"node-a-identity","ownerId":"owner-a","leaseGeneration":"5","updatedAtEpochMs":"1700000000000"}}`
	goldenClientServer = `{"recordVersion":1,"ownerId":"owner-b","leaseGeneration":"2","descriptorRevision":"4",` +
		`"descriptor":{"channelName":"chat-channel","serverRoutingIdHex":"01020304","lifecycleGeneration":"1",` +
		`"descriptorRevision":"4","endpoint":"tcp://server-a:6000","weight":100,"state":"serving",` +
		`"securityIdentity":"server-a-identity","ownerId":"owner-b","leaseGeneration":"2","updatedAtEpochMs":"1700000001000"}}`
	goldenFanoutPublisher = `{"recordVersion":1,"ownerId":"owner-c","leaseGeneration":"1","descriptorRevision":"1",` +
		`"descriptor":{"channelName":"chat-channel","publisherRoutingIdHex":"01020304","lifecycleGeneration":"1",` +
		`"descriptorRevision":"1","endpoint":"tcp://publisher-a:7000","state":"serving",` +
		`"securityIdentity":"publisher-a-identity","ownerId":"owner-c","leaseGeneration":"1","updatedAtEpochMs":"1700000002000"}}`
	goldenOwnerLease = `{"recordVersion":1,"ownerId":"owner-a","leaseGeneration":"5"}`
	goldenActor      = `{"recordVersion":1,"payload":"3q2+78r+8A0=","objectGeneration":"7","authorityOwnerGeneration":"3",` +
		`"ownerId":"owner-a","ownerLeaseGeneration":"5","allocation":{"state":"active","objectKind":"actor",` +
		`"stableType":"chat","descriptor":{"meshName":"main","routingIdHex":"01020304"},"descriptorLifecycleGeneration":"1",` +
		`"capacity":{"actors":1,"spots":0,"spotType":null}},"pendingCreation":null}`
	goldenSpot = `{"recordVersion":1,"payload":"AQIDBA==","objectGeneration":"12","authorityOwnerGeneration":"1",` +
		`"ownerId":"owner-b","ownerLeaseGeneration":"2","allocation":{"state":"reserved","objectKind":"userSpot",` +
		`"stableType":"game","descriptor":{"meshName":"main","routingIdHex":"01020304"},"descriptorLifecycleGeneration":"1",` +
		`"capacity":{"actors":0,"spots":1,"spotType":{"objectKind":"userSpot","stableType":"game","count":1}}},` +
		`"pendingCreation":{"reservationId":"reservation-1",` +
		`"requestContentReference":"inline-v1:emxpbmsgY3JlYXRlIHJvb206MSByZXF1ZXN0-___",` +
		`"requestSha256":"580760e788ca95937dc4c9b9c2228af28e0ac6237381e8cfe429d32b40310db0","requestEncodedSize":30}}`
)

// again decodes data as an R, encodes that and decodes it once more.
func again[R Record](data string) error {
	r, err := Decode[R]([]byte(data))
	if err != nil {
		return err
	}
	out, err := Encode(r)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(data, string(out)); diff != "" {
		return errors.New("encoded differently (-read +written):\n" + diff)
	}
	return nil
}

func TestGoldenRoundTrip(t *testing.T) {
	for name, err := range map[string]error{
		"mesh node":        again[MeshNode](goldenMeshNode),
		"client server":    again[ClientServer](goldenClientServer),
		"fanout publisher": again[FanoutPublisher](goldenFanoutPublisher),
		"owner lease":      again[OwnerLease](goldenOwnerLease),
		"actor":            again[Authority](goldenActor),
		"spot":             again[Authority](goldenSpot),
		// A text that an HTML-minded writer would escape.
		"angle brackets": again[OwnerLease](`{"recordVersion":1,"ownerId":"<a>&\"é","leaseGeneration":"5"}`),
		"empty lists": again[MeshNode](strings.NewReplacer(`{"billing":100}`, `{}`,
			`[{"objectKind":"userSpot","stableType":"game","active":2,"reserved":0,"limit":100}]`, `[]`).Replace(goldenMeshNode)),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEncodeFromTyped(t *testing.T) {
	lease := OwnerLease{OwnerID: "owner-a", LeaseGeneration: 5}
	got, err := Encode(lease)
	if err != nil || string(got) != goldenOwnerLease {
		t.Errorf("got %s, %v; want %s", got, err, goldenOwnerLease)
	}
	spot := "spot"
	node, err := Decode[MeshNode]([]byte(goldenMeshNode))
	if err != nil {
		t.Fatal(err)
	}
	node.Descriptor.MaintenanceWave = &spot
	if got, err = Encode(node); err != nil || !strings.Contains(string(got), `"maintenanceWave":"spot"`) {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	mesh := func(s string) error { _, err := Decode[MeshNode]([]byte(s)); return err }
	lease := func(s string) error { _, err := Decode[OwnerLease]([]byte(s)); return err }
	authority := func(s string) error { _, err := Decode[Authority]([]byte(s)); return err }
	tests := []struct {
		name     string
		decode   func(string) error
		in       string
		old, new string // replaced once in the golden text; old "" appends
		want     string
	}{
		{"version 2", lease, goldenOwnerLease, `n":1`, `n":2`, "field recordVersion: is 2"},
		{"version as string", lease, goldenOwnerLease, `n":1`, `n":"1"`, "field recordVersion: must be a number"},
		{"number for generation", lease, goldenOwnerLease, `"5"`, `5`,
			"field leaseGeneration: must be a string of decimal digits, not the number 5"},
		{"generation 0", lease, goldenOwnerLease, `"5"`, `"0"`, "field leaseGeneration: is 0"},
		{"leading zero", lease, goldenOwnerLease, `"5"`, `"05"`, "field leaseGeneration"},
		{"plus sign", lease, goldenOwnerLease, `"5"`, `"+5"`, "field leaseGeneration"},
		{"2^63", lease, goldenOwnerLease, `"5"`, `"9223372036854775808"`, "field leaseGeneration"},
		{"missing field", lease, goldenOwnerLease, `,"leaseGeneration":"5"`, ``, "field leaseGeneration: is missing"},
		{"unknown field", lease, goldenOwnerLease, `"5"`, `"5","extra":1`, "field extra: is unknown or repeated"},
		{"repeated field", lease, goldenOwnerLease, `"5"`, `"5","leaseGeneration":"5"`,
			"field leaseGeneration: is unknown or repeated"},
		{"other letter case", lease, goldenOwnerLease, `ownerId`, `ownerID`, `field ownerID: stands where "ownerId" belongs`},
		{"null text", lease, goldenOwnerLease, `"owner-a"`, `null`, "field ownerId: must be a string, not null"},
		{"white space", lease, goldenOwnerLease, `:"5"`, `: "5"`, "not canonical JSON from byte 57"},
		{"trailing bytes", lease, goldenOwnerLease, ``, `{}`, "behind its JSON object"},
		{"no object", lease, "[]", ``, ``, "(the record): must be an object"},
		{"empty", lease, "", ``, ``, "no JSON here: unexpected EOF"},
		{"truncated", lease, goldenOwnerLease[:20], ``, ``, "field ownerId: no JSON here"},
		{"not UTF-8", lease, goldenOwnerLease, `owner-a`, "owner-\xff", "not valid UTF-8"},
		{"string for weight", mesh, goldenMeshNode, `"placementWeight":100`, `"placementWeight":"100"`,
			"field descriptor.placementWeight: must be a number"},
		{"fraction", mesh, goldenMeshNode, `"placementWeight":100`, `"placementWeight":100.0`,
			"field descriptor.placementWeight"},
		{"negative weight", mesh, goldenMeshNode, `"billing":100`, `"billing":-1`,
			"field descriptor.channelWeights.billing: is -1"},
		{"deep field", mesh, goldenMeshNode, `"limit":500`, `"limit":true`,
			"field descriptor.objectCapabilities[1].limit: must be a number, not true"},
		{"null list", mesh, goldenMeshNode, `{"billing":100}`, `null`,
			"field descriptor.channelWeights: must be an object, not null"},
		{"owner differs", mesh, goldenMeshNode, `"owner-a"`, `"owner-z"`,
			`field descriptor.ownerId: is "owner-a", but ownerId is "owner-z"`},
		{"lease differs", mesh, goldenMeshNode, `"leaseGeneration":"5"`, `"leaseGeneration":"6"`,
			"field descriptor.leaseGeneration: is 5"},
		{"revision differs", mesh, goldenMeshNode, `"descriptorRevision":"3"`, `"descriptorRevision":"4"`,
			"field descriptor.descriptorRevision: is 3"},
		{"uppercase hex", mesh, goldenMeshNode, `"01020304"`, `"0102030A"`, "field descriptor.routingIdHex"},
		{"unsorted map", mesh, goldenMeshNode, `{"billing":100}`, `{"b":1,"a":2}`, "not canonical"},
		{"repeated map key", mesh, goldenMeshNode, `{"billing":100}`, `{"b":1,"b":1}`, "not canonical"},
		{"bad base64", authority, goldenActor, `8A0=`, `8A0`, "field payload"},
		{"loose base64", authority, goldenActor, `8A0=`, `8A1=`, "field payload"},
		{"short digest", authority, goldenSpot, `580760`, `5807`,
			"field pendingCreation.requestContentReference: the content has the SHA-256"},
		{"absent optional", authority, goldenActor, `,"pendingCreation":null`, ``, "field pendingCreation: is missing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := strings.Replace(tt.in, tt.old, tt.new, 1)
			if tt.old == "" {
				in = tt.in + tt.new
			}
			err := tt.decode(in)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: got %v, want an error with %q", in, err, tt.want)
			}
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	var field *FieldError
	_, err := Encode(OwnerLease{OwnerID: "a"})
	if !errors.As(err, &field) || field.Field != "leaseGeneration" {
		t.Errorf("generation 0: got %v", err)
	}
	_, err = Encode(MeshNode{OwnerID: "a", LeaseGeneration: 1})
	if !errors.As(err, &field) || !strings.HasPrefix(field.Field, "descriptor.") {
		t.Errorf("empty descriptor: got %v", err)
	}
	if _, err = Encode(OwnerLease{OwnerID: "\xff", LeaseGeneration: 1}); !errors.As(err, &field) || field.Field != "ownerId" {
		t.Errorf("invalid UTF-8: got %v", err)
	}
}

// FuzzDecodeRecord: whatever is accepted is the record's one canonical text.
func FuzzDecodeRecord(f *testing.F) {
	for _, s := range []string{goldenMeshNode, goldenClientServer, goldenFanoutPublisher, goldenOwnerLease, goldenActor,
		goldenSpot,
		"", "{}", "[]", "null", `{"recordVersion":1}`,
		`{"recordVersion":1,"ownerId":"\u0000","leaseGeneration":"9223372036854775807"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		accepted := 0
		for _, check := range []func([]byte) (bool, error){
			accept[MeshNode], accept[ClientServer], accept[FanoutPublisher], accept[OwnerLease], accept[Authority],
		} {
			ok, err := check(data)
			if err != nil {
				t.Fatalf("%q: %v", data, err)
			}
			if ok {
				accepted++
			}
		}
		if accepted > 1 {
			t.Fatalf("%q reads as %d kinds of record", data, accepted)
		}
	})
}

func accept[R Record](data []byte) (bool, error) {
	r, err := Decode[R](data)
	if err != nil {
		return false, nil
	}
	out, err := Encode(r)
	if err == nil && string(out) != string(data) {
		err = errors.New("written as " + string(out))
	}
	return true, err
}
