package mistake

import (
	"encoding/json"
	"hash/fnv"
)

// Case is a text with one mistake.
type Case struct {
	// Kind is the kind of mistake, Document the document that it was put into, Schema the name of that document's schema.
	Kind, Document, Schema string
	// Text is what the model wrote, Want the value that it meant.
	Text, Want string
}

// perKind limits the cases of one kind in a document.
const perKind = 3

// Cases returns the corpus.
func Cases() ([]Case, error) {
	documents, err := Documents()
	if err != nil {
		return nil, err
	}
	var cases []Case
	for _, k := range kinds() {
		for _, d := range documents {
			found := k.make(&draft{src: d.Text, list: tokens(d.Text)})
			for _, i := range pick(k.name+d.Name, len(found)) {
				one := found[i]
				if one.want == "" {
					one.want = d.Text
				}
				if !json.Valid([]byte(one.text)) || one.text != one.want {
					cases = append(cases, Case{Kind: k.name, Document: d.Name, Schema: d.Schema, Text: one.text, Want: one.want})
				}
			}
		}
	}
	return cases, nil
}

// pick returns up to perKind of n numbers, spread by a hash of the name.
func pick(name string, n int) []int {
	if n <= perKind {
		list := make([]int, n)
		for i := range list {
			list[i] = i
		}
		return list
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	first := int(h.Sum32() % uint32(n))
	list := make([]int, perKind)
	for i := range list {
		list[i] = (first + i*n/perKind) % n
	}
	return list
}
