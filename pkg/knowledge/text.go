package knowledge

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// The parameters of BM25: how quickly repetitions of a word count less, and how much a long passage counts less.
const (
	saturation = 1.2
	length     = 0.75
	// headingCount is how often a word of a heading counts.
	headingCount = 2
	// leastPassages is the least number of passages against which the rarity of a word is measured, so that scores of a small base
	// are comparable with those of a large one.
	leastPassages = 1000
	// maxQuery limits the different words of a query that are searched for; the rarest are kept.
	maxQuery = 64
)

// Text is an Index over words. The zero value is empty and ready.
type Text struct {
	documents []Document
	passages  []indexed
	// words numbers the words, posted has the passages of each.
	words  map[string]uint32
	posted [][]posting
	total  int // The number of words in all passages.
	size   int // The number of bytes in all texts.
}

// indexed is a passage in the index.
type indexed struct {
	Passage
	document uint32
	words    uint32
}

// posting says how often a passage has a word.
type posting struct {
	passage uint32
	count   uint16
}

// Size returns how many bytes of text the index holds. The index itself takes about the same memory in addition.
func (t *Text) Size() int { return t.size }

// Add implements Index.
func (t *Text) Add(ctx context.Context, d *Document) error {
	if t.words == nil {
		t.words = map[string]uint32{}
	}
	document := uint32(len(t.documents))
	t.documents = append(t.documents, *d)
	t.size += len(d.Text)
	for i, p := range Passages(d.Text) {
		if i%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		words := t.count(d.Text[p.Start:p.End], 1)
		t.count(p.Heading, headingCount)
		t.count(d.Ref.Name, 1)
		t.passages = append(t.passages, indexed{Passage: p, document: document, words: uint32(words)})
		t.total += words
	}
	return nil
}

// count counts the words of a text into the passage that is being added.
func (t *Text) count(text string, times uint16) (words int) {
	passage := uint32(len(t.passages))
	Words(text, func(word []byte) {
		words++
		id, known := t.words[string(word)]
		if !known {
			id = uint32(len(t.posted))
			t.words[string(word)] = id
			t.posted = append(t.posted, nil)
		}
		list := t.posted[id]
		if last := len(list) - 1; last >= 0 && list[last].passage == passage {
			list[last].count = min(list[last].count, math.MaxUint16-times) + times
			return
		}
		t.posted[id] = append(list, posting{passage: passage, count: times})
	})
	return words
}

// Search implements Index.
func (t *Text) Search(_ context.Context, query string, most int) ([]Hit, error) {
	scores := make([]float64, len(t.passages))
	average := float64(t.total) / float64(max(1, len(t.passages)))
	for _, id := range t.terms(query) {
		have := float64(len(t.posted[id]))
		weight := math.Log(1 + (float64(max(len(t.passages), leastPassages))-have+0.5)/(have+0.5))
		for _, p := range t.posted[id] {
			count := float64(p.count)
			long := 1 - length + length*float64(t.passages[p.passage].words)/max(1, average)
			scores[p.passage] += weight * count * (saturation + 1) / (count + saturation*long)
		}
	}
	var found []uint32
	for passage, score := range scores {
		if score > 0 {
			found = append(found, uint32(passage))
		}
	}
	slices.SortFunc(found, func(a, b uint32) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) })
	hits := make([]Hit, 0, min(most, len(found)))
	for _, passage := range found[:min(max(0, most), len(found))] {
		hits = append(hits, t.hit(passage, scores[passage]))
	}
	return hits, nil
}

func (t *Text) hit(passage uint32, score float64) Hit {
	p := &t.passages[passage]
	d := &t.documents[p.document]
	return Hit{Base: d.Base, Name: d.Ref.Name, Digest: d.Ref.Digest, Heading: p.Heading, Text: d.Text[p.Start:p.End], Score: math.Round(score*1000) / 1000}
}

// terms returns the words of a query that are indexed and meaningful, each once, the rarest first.
func (t *Text) terms(query string) []uint32 {
	var ids []uint32
	seen := map[uint32]bool{}
	Words(query, func(word []byte) {
		id, known := t.words[string(word)]
		if known && !seen[id] && !common[string(word)] {
			seen[id] = true
			ids = append(ids, id)
		}
	})
	slices.SortFunc(ids, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(len(t.posted[a]), len(t.posted[b])), cmp.Compare(a, b))
	})
	return ids[:min(len(ids), maxQuery)]
}
