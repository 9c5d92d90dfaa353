package record

// Version is the only recordVersion that is read or written (L9.recordversion).
const Version = 1

// Generation is a generation or lease generation, 1..2^63-1. In JSON it is a
// string of canonical decimal digits.
type Generation int64

// Decimal is a revision, a version or a time in milliseconds since the Unix
// epoch, 0..2^63-1. In JSON it is a string of canonical decimal digits.
type Decimal int64

// Count is a weight, limit or count. In JSON it is a number, 0..MaxCount.
type Count int64

// MaxCount is the largest integer that every JSON reader keeps exact.
const MaxCount Count = 1<<53 - 1

// Hex is bytes written as lowercase hex digits, not empty.
type Hex string

// Base64 is bytes written as padded standard base64.
type Base64 string

// Header opens every record; Encode fills it in.
type Header struct {
	RecordVersion Count `json:"recordVersion"`
}

// MeshNode is the record of a mesh node's descriptor.
type MeshNode struct {
	Header
	OwnerID            string             `json:"ownerId"`
	LeaseGeneration    Generation         `json:"leaseGeneration"`
	DescriptorRevision Decimal            `json:"descriptorRevision"`
	Descriptor         MeshNodeDescriptor `json:"descriptor"`
}

// MeshNodeDescriptor tells other nodes how to reach a mesh node and what it
// can hold.
type MeshNodeDescriptor struct {
	MeshName              string             `json:"meshName"`
	RoutingIDHex          Hex                `json:"routingIdHex"`
	LifecycleGeneration   Generation         `json:"lifecycleGeneration"`
	DescriptorRevision    Decimal            `json:"descriptorRevision"`
	Endpoint              string             `json:"endpoint"`
	EntrySpotID           *string            `json:"entrySpotId"`
	ChannelWeights        map[string]Count   `json:"channelWeights"` // in byte order of the names
	ApplicationVersion    Decimal            `json:"applicationVersion"`
	ObjectCapabilities    []ObjectCapability `json:"objectCapabilities"`
	ObjectRole            string             `json:"objectRole"`
	PlacementWeight       Count              `json:"placementWeight"`
	Capacity              NodeCapacity       `json:"capacity"`
	ActivationConcurrency Activation         `json:"activationConcurrency"`
	MaintenanceWave       *string            `json:"maintenanceWave"`
	State                 string             `json:"state"`
	SecurityIdentity      *string            `json:"securityIdentity"`
	OwnerID               string             `json:"ownerId"`
	LeaseGeneration       Generation         `json:"leaseGeneration"`
	UpdatedAtEpochMs      Decimal            `json:"updatedAtEpochMs"`
}

// ObjectCapability says what kind of object a node can run.
type ObjectCapability struct {
	ObjectKind         string `json:"objectKind"`
	StableType         string `json:"stableType"`
	Policy             string `json:"policy"`
	HasSnapshotAdapter bool   `json:"hasSnapshotAdapter"`
	Limit              Count  `json:"limit"`
}

// NodeCapacity is what a node holds and may hold.
type NodeCapacity struct {
	Actors    Usage       `json:"actors"`
	Spots     Usage       `json:"spots"`
	SpotTypes []TypeUsage `json:"spotTypes"`
}

// Usage counts objects against a limit; a limit of 0 is none.
type Usage struct {
	Active   Count `json:"active"`
	Reserved Count `json:"reserved"`
	Limit    Count `json:"limit"`
}

// TypeUsage is the Usage of one stable type.
type TypeUsage struct {
	ObjectKind string `json:"objectKind"`
	StableType string `json:"stableType"`
	Active     Count  `json:"active"`
	Reserved   Count  `json:"reserved"`
	Limit      Count  `json:"limit"`
}

// Activation counts activations under way.
type Activation struct {
	Active Count `json:"active"`
	Limit  Count `json:"limit"`
}

// ClientServer is the record of a channel server's descriptor.
type ClientServer struct {
	Header
	OwnerID            string                 `json:"ownerId"`
	LeaseGeneration    Generation             `json:"leaseGeneration"`
	DescriptorRevision Decimal                `json:"descriptorRevision"`
	Descriptor         ClientServerDescriptor `json:"descriptor"`
}

// ClientServerDescriptor tells clients how to reach a channel server.
type ClientServerDescriptor struct {
	ChannelName         string     `json:"channelName"`
	ServerRoutingIDHex  Hex        `json:"serverRoutingIdHex"`
	LifecycleGeneration Generation `json:"lifecycleGeneration"`
	DescriptorRevision  Decimal    `json:"descriptorRevision"`
	Endpoint            string     `json:"endpoint"`
	Weight              Count      `json:"weight"`
	State               string     `json:"state"`
	SecurityIdentity    *string    `json:"securityIdentity"`
	OwnerID             string     `json:"ownerId"`
	LeaseGeneration     Generation `json:"leaseGeneration"`
	UpdatedAtEpochMs    Decimal    `json:"updatedAtEpochMs"`
}

// FanoutPublisher is the record of a fanout publisher's descriptor.
type FanoutPublisher struct {
	Header
	OwnerID            string                    `json:"ownerId"`
	LeaseGeneration    Generation                `json:"leaseGeneration"`
	DescriptorRevision Decimal                   `json:"descriptorRevision"`
	Descriptor         FanoutPublisherDescriptor `json:"descriptor"`
}

// FanoutPublisherDescriptor tells subscribers how to reach a publisher.
type FanoutPublisherDescriptor struct {
	ChannelName           string     `json:"channelName"`
	PublisherRoutingIDHex Hex        `json:"publisherRoutingIdHex"`
	LifecycleGeneration   Generation `json:"lifecycleGeneration"`
	DescriptorRevision    Decimal    `json:"descriptorRevision"`
	Endpoint              string     `json:"endpoint"`
	State                 string     `json:"state"`
	SecurityIdentity      *string    `json:"securityIdentity"`
	OwnerID               string     `json:"ownerId"`
	LeaseGeneration       Generation `json:"leaseGeneration"`
	UpdatedAtEpochMs      Decimal    `json:"updatedAtEpochMs"`
}

// OwnerLease is the record of one life of an owner's host process.
type OwnerLease struct {
	Header
	OwnerID         string     `json:"ownerId"`
	LeaseGeneration Generation `json:"leaseGeneration"`
}

// Authority is the record of who owns an actor or a spot.
type Authority struct {
	Header
	Payload                  Base64           `json:"payload"`
	ObjectGeneration         Generation       `json:"objectGeneration"`
	AuthorityOwnerGeneration Generation       `json:"authorityOwnerGeneration"`
	OwnerID                  string           `json:"ownerId"`
	OwnerLeaseGeneration     Generation       `json:"ownerLeaseGeneration"`
	Allocation               Allocation       `json:"allocation"`
	PendingCreation          *PendingCreation `json:"pendingCreation"`
}

// Allocation is the room that an object takes on a node.
type Allocation struct {
	State                         string             `json:"state"`
	ObjectKind                    string             `json:"objectKind"`
	StableType                    string             `json:"stableType"`
	Descriptor                    NodeRef            `json:"descriptor"`
	DescriptorLifecycleGeneration Generation         `json:"descriptorLifecycleGeneration"`
	Capacity                      AllocationCapacity `json:"capacity"`
}

// NodeRef names a mesh node.
type NodeRef struct {
	MeshName     string `json:"meshName"`
	RoutingIDHex Hex    `json:"routingIdHex"`
}

// AllocationCapacity counts what an allocation takes.
type AllocationCapacity struct {
	Actors   Count      `json:"actors"`
	Spots    Count      `json:"spots"`
	SpotType *TypeCount `json:"spotType"`
}

// TypeCount counts the spots of one stable type.
type TypeCount struct {
	ObjectKind string `json:"objectKind"`
	StableType string `json:"stableType"`
	Count      Count  `json:"count"`
}

// PendingCreation is a creation that has a reservation but no object yet.
type PendingCreation struct {
	ReservationID           string `json:"reservationId"`
	RequestContentReference string `json:"requestContentReference"`
	RequestSHA256           Hex    `json:"requestSha256"` // 64 digits
	RequestEncodedSize      Count  `json:"requestEncodedSize"`
}
