package harness

import (
	"time"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// scanMayEnd is the age since its first page from which a provider may give a
// scan up (L5.expired).
const scanMayEnd = 10 * time.Second

// scans remembers when the scan that a cursor continues began.
type scans map[spi.Cursor]time.Time

// followScan notes the cursor of a page. It skips the case when a scan is
// Expired that took so long, in real time, that it may be: no case is about
// that, and the machine or the provider's small pages are no fault.
func (t *T) followScan(request spi.ScanRequest, sent time.Time, result spi.ScanResult) {
	t.mu.Lock()
	began := sent
	if request.Cursor != nil {
		var known bool
		if began, known = t.scans[*request.Cursor]; !known {
			began = sent
		}
	}
	if page, ok := result.(spi.Page); ok && page.Next != nil {
		if t.scans == nil {
			t.scans = scans{}
		}
		t.scans[*page.Next] = began
	}
	t.mu.Unlock()
	if _, expired := result.(spi.Expired); expired {
		if age := time.Since(began); age > scanMayEnd {
			t.Skipf("a scan took %v since its first page, and after %v a provider may end it: too slow to be judged here",
				age.Round(100*time.Millisecond), scanMayEnd)
		}
	}
}
