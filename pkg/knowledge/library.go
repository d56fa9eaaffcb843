package knowledge

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/bases"
	"github.com/jobgraph/jobgraph/pkg/events/store"
)

// The limits of a Library.
const (
	// MaxIndexed is how many bytes of text one base may have that are searched; further documents are only listed and read.
	MaxIndexed = 32 << 20
	// maxCached is how many bytes of text all cached indexes hold together. The one in use may exceed it.
	maxCached = 64 << 20
)

// Store has the documents of bases. Get returns store.ErrNotFound for a missing one.
type Store interface {
	// List lists the documents of a base, sorted by name.
	List(ctx context.Context, b bases.Base) ([]events.Ref, error)
	// Get reads one document.
	Get(ctx context.Context, b bases.Base, digest string) ([]byte, error)
}

// Found is the result of a search.
type Found struct {
	// Hits are the passages, best first.
	Hits []Hit `json:"hits,omitempty"`
	// Unread names the documents that were not searched: those that are not text, or beyond MaxIndexed.
	Unread []string `json:"unread,omitempty"`
}

// Library searches the bases of a store. It builds the index of a base on its first search, and again when the list of its
// documents has changed.
type Library struct {
	store Store
	mu    sync.Mutex // Guards shelves and size; not held while an index is built.
	// shelves are the cached indexes by base, size is their text in bytes, and used counts searches.
	shelves map[bases.Base]*shelf
	size    int
	used    uint64
}

// shelf is the index of one version of a base.
type shelf struct {
	version string
	ready   chan struct{} // Closed when the fields below are set.
	index   Text
	unread  []string
	err     error
	used    uint64
}

// NewLibrary makes a library over a store.
func NewLibrary(s Store) *Library { return &Library{store: s, shelves: map[bases.Base]*shelf{}} }

// Search returns up to most passages of all bases together, best first. Errors: those of the store, and the context's.
func (l *Library) Search(ctx context.Context, bases []bases.Base, query string, most int) (Found, error) {
	var found Found
	for _, b := range bases {
		s, err := l.open(ctx, b)
		if err != nil {
			return Found{}, fmt.Errorf("search %s: %w", b, err)
		}
		hits, err := s.index.Search(ctx, query, most)
		if err != nil {
			return Found{}, fmt.Errorf("search %s: %w", b, err)
		}
		found.Hits = append(found.Hits, hits...)
		found.Unread = append(found.Unread, s.unread...)
	}
	slices.SortStableFunc(found.Hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	found.Hits = distinct(found.Hits)
	found.Hits = found.Hits[:min(len(found.Hits), max(0, most))]
	return found, nil
}

// distinct removes passages that another base has as well.
func distinct(hits []Hit) []Hit {
	seen := map[string]bool{}
	return slices.DeleteFunc(hits, func(h Hit) bool {
		had := seen[h.Text]
		seen[h.Text] = true
		return had
	})
}

// open returns the index of the present version of a base. If several callers need it, one of them builds it.
func (l *Library) open(ctx context.Context, b bases.Base) (*shelf, error) {
	for {
		list, err := l.store.List(ctx, b)
		if err != nil {
			return nil, err
		}
		s, build := l.claim(b, versionOf(list))
		if build {
			l.build(ctx, b, s, list)
		}
		select {
		case <-s.ready:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if s.err == nil || build {
			return s, s.err
		}
		if !errors.Is(s.err, context.Canceled) && !errors.Is(s.err, context.DeadlineExceeded) {
			return nil, s.err
		} // The builder was cancelled: build the index here.
	}
}

// claim returns the shelf of a version of a base, and whether the caller has to build it.
func (l *Library) claim(b bases.Base, version string) (s *shelf, build bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used++
	s = l.shelves[b]
	if s == nil || s.version != version {
		l.remove(b)
		s, build = &shelf{version: version, ready: make(chan struct{})}, true
		l.shelves[b] = s
	}
	s.used = l.used
	return s, build
}

// build fills a shelf. A failed one is removed, so that the next search tries again.
func (l *Library) build(ctx context.Context, b bases.Base, s *shelf, list []events.Ref) {
	s.err = s.fill(ctx, l.store, b, list)
	l.mu.Lock()
	defer l.mu.Unlock()
	defer close(s.ready)
	switch {
	case l.shelves[b] != s: // Replaced by a newer version in the meantime.
	case s.err != nil:
		delete(l.shelves, b)
	default:
		l.size += s.index.Size()
		l.shrink(b)
	}
}

// shrink removes the least recently used indexes until the rest fits; keep stays.
func (l *Library) shrink(keep bases.Base) {
	for l.size > maxCached {
		var oldest *bases.Base
		for b, s := range l.shelves { // any order: the oldest is unique.
			if b != keep && s.built() && (oldest == nil || s.used < l.shelves[*oldest].used) {
				oldest = &b
			}
		}
		if oldest == nil {
			return
		}
		l.remove(*oldest)
	}
}

// remove forgets the index of a base.
func (l *Library) remove(b bases.Base) {
	if s := l.shelves[b]; s != nil && s.built() {
		l.size -= s.index.Size()
	}
	delete(l.shelves, b)
}

// built reports whether an index is complete and counts towards size.
func (s *shelf) built() bool {
	select {
	case <-s.ready:
		return s.err == nil
	default:
		return false
	}
}

// fill reads and indexes the documents of a base. It skips a document that was removed in the meantime.
func (s *shelf) fill(ctx context.Context, from Store, b bases.Base, list []events.Ref) error {
	for _, ref := range list {
		if int64(s.index.Size())+ref.Size > MaxIndexed {
			s.unread = append(s.unread, ref.Name)
			continue
		}
		data, err := from.Get(ctx, b, ref.Digest)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		text, _, err := Decode(data)
		if err != nil {
			s.unread = append(s.unread, ref.Name)
			continue
		}
		if err := s.index.Add(ctx, &Document{Base: b, Ref: ref, Text: text}); err != nil {
			return err
		}
	}
	return nil
}

// versionOf identifies a list of documents.
func versionOf(list []events.Ref) string {
	sum := sha256.New()
	for _, ref := range list {
		fmt.Fprintf(sum, "%s %q\n", ref.Digest, ref.Name) // A hash never fails.
	}
	return hex.EncodeToString(sum.Sum(nil))
}
