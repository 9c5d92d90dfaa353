package model

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// snapshot is a scan that is open or has ended.
type snapshot struct {
	prefix      string
	byReference bool
	began       int                // w.changes at the first page
	first       spi.Millis         // store time of the first page
	items       map[spi.Key]record // as of the first page
	shown       map[spi.Key]bool
	cursor      *spi.Cursor // of the next page; nil: the scan has ended
	sent        spi.Millis  // what the Redis's clock showed before the first page
	crowded     bool        // more scans were open beside it than a provider must keep
}

// mayBeGone is the age in ms from which a provider may have dropped a snapshot,
// by the Redis's clock: it was moved on, or the machine or the pages are slow.
// The contract names no time; all official providers keep one for a minute.
const mayBeGone = 10_000

// openAtOnce is how many open scans every provider keeps (L5.snapshot).
const openAtOnce = 4

// opened judges the first page of a scan.
func (w *world) opened(s scanStep, byReference bool, result spi.ScanResult) error {
	page, ok := result.(spi.Page)
	if !ok {
		return broken("L5.expired", "the first page of a scan answered %s", harness.Describe(result))
	}
	if err := w.tick("L3.store-now", page.StoreNow); err != nil {
		return err
	}
	snap := &snapshot{
		prefix: s.prefix, byReference: byReference, began: w.changes, first: page.StoreNow, sent: w.during.Before,
		items: map[spi.Key]record{}, shown: map[spi.Key]bool{},
	}
	for k, r := range w.records {
		if strings.HasPrefix(string(k), s.prefix) && r.at(page.StoreNow) != gone {
			snap.items[k] = r
		}
	}
	w.snapshots[s.name] = snap
	err := w.turned(snap, s.limit, page)
	w.crowd(snap)
	return err
}

// crowd notes which scans a provider may give up for the newest one.
func (w *world) crowd(newest *snapshot) {
	open := 0
	for _, s := range w.snapshots {
		if s.cursor != nil {
			open++
		}
	}
	for _, s := range w.snapshots {
		s.crowded = s.crowded || open > openAtOnce && s != newest
	}
}

// turned judges a page of an open scan.
func (w *world) turned(snap *snapshot, limit int, result spi.ScanResult) error {
	page, ok := result.(spi.Page)
	if !ok {
		snap.cursor = nil
		if _, expired := result.(spi.Expired); expired && (w.during.After-snap.sent >= mayBeGone || snap.crowded) {
			return nil
		}
		return broken("L5.snapshot", "a page of a snapshot that was opened just now answered %s", harness.Describe(result))
	}
	// A later page tells the time of its own reading or that of the first page.
	if page.StoreNow != snap.first {
		if err := w.tick("L3.store-now", page.StoreNow); err != nil {
			return err
		}
	}
	if len(page.Items) > limit {
		return broken("L5.limit", "a page holds %d items, more than its limit of %d", len(page.Items), limit)
	}
	for _, item := range page.Items {
		if err := w.shown(snap, item); err != nil {
			return err
		}
	}
	snap.cursor = page.Next
	if page.Next != nil {
		if n := len(*page.Next); n == 0 || n > spi.MaxCursorBytes || !utf8.ValidString(string(*page.Next)) {
			return broken("L5.cursor", "a cursor is not 1 to %d bytes of UTF-8", spi.MaxCursorBytes)
		}
		return nil
	}
	for key, r := range snap.items {
		if !snap.shown[key] && r.at(snap.first) == live {
			if w.wasRejected(key, nil) {
				return broken("L4.all-or-nothing", "the scan ended without %q, which only a batch that conflicted deleted", key)
			}
			return broken(w.requirementOf(snap, key), "the scan ended without %q, which the snapshot holds", key)
		}
	}
	return nil
}

// shown judges one item of a page.
func (w *world) shown(snap *snapshot, item spi.Item) error {
	r, ok := snap.items[item.Key]
	switch {
	case !strings.HasPrefix(string(item.Key), snap.prefix):
		return broken("L5.prefix", "the scan shows %q, which does not start with %q", item.Key, snap.prefix)
	case snap.shown[item.Key]:
		return broken("L5.complete", "the scan shows %q twice", item.Key)
	case !ok && w.wasRejected(item.Key, &item.Value):
		return broken("L4.all-or-nothing", "the scan shows %q as a batch that conflicted would have put it", item.Key)
	case !ok:
		return broken(w.requirementOf(snap, item.Key), "the scan shows %q, which the snapshot does not hold", item.Key)
	}
	snap.shown[item.Key] = true
	var b *breach
	if errors.As(w.compare(item.Key, r, item.Value), &b) {
		if b.requirement == "L4.all-or-nothing" {
			return b
		}
		return broken(w.requirementOf(snap, item.Key),
			"the scan shows %q with another value, version or expiry than the snapshot holds", item.Key)
	}
	return nil
}

// requirementOf is what a wrong item breaks: the snapshot if the record changed
// since the first page.
func (w *world) requirementOf(snap *snapshot, key spi.Key) string {
	if w.changed[key] > snap.began {
		return "L5.snapshot"
	}
	return "L5.complete"
}
