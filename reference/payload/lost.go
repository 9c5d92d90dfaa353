package payload

import (
	"fmt"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// Reason says why a payload is lost.
type Reason string

// The reasons of a DataLost.
const (
	Absent    Reason = "missing or expired"
	Damaged   Reason = "damaged"               // the bytes are no whole frame or index
	Misplaced Reason = "another chunk"         // a whole frame with another order
	Different Reason = "not the indexed bytes" // a whole frame with other data than the index says
	Oversized Reason = "not of the chunk size" // the index has chunks of another size
)

// IndexLost is the Chunk of a DataLost that concerns the leading index.
const IndexLost = -1

// DataLost says that a payload cannot be used, not even in part (P3.data-lost).
type DataLost struct {
	Chunk     int // from 0, or IndexLost
	Reference spi.Reference
	Reason    Reason
	Err       error // details, if there are any
}

func (e *DataLost) Error() string {
	part := fmt.Sprintf("chunk %d", e.Chunk)
	if e.Chunk == IndexLost {
		part = "leading index"
	}
	s := fmt.Sprintf("data lost: %s (reference %.64q) is %s", part, e.Reference, e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *DataLost) Unwrap() error { return e.Err }
