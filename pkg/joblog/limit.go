package joblog

import (
	"fmt"
	"strings"
)

// Limit is a limit of a SubJob's runs, and who set it. Where several apply, it is the stricter one.
type Limit struct {
	// Name is retries or timeout, Value what it allows.
	Name  string `json:"name"`
	Value string `json:"value"`
	// By says whose limit it is: "limits.retries of the request", "the card of expert x, or the plan", "the default".
	By string `json:"by"`
}

// Limits returns the limits of a SubJob that has an expert; none for other nodes.
func (l *Log) Limits(id string) []Limit {
	n := l.Node(id)
	if n == nil || n.Expert == "" || strings.HasPrefix(n.ID, "~") {
		return nil
	}
	own := fmt.Sprintf("the card of expert %s, or the plan", n.Expert)
	planned, _ := l.texts.Planned(n.Spec)
	retries := Limit{Name: "retries", Value: fmt.Sprint(n.RetryLimit), By: own}
	switch asked := l.asked(); {
	case asked != nil && *asked == n.RetryLimit:
		retries.By = "limits.retries of the request"
	case planned.Retries == nil && len(n.Spec.Edits) == 0:
		retries.By = "the default"
	}
	list := []Limit{retries}
	if n.Timeout > 0 {
		list = append(list, Limit{Name: "timeout", Value: n.Timeout.Std().String(), By: own})
	}
	return list
}

// asked returns the retry limit of the request itself; nil for none.
func (l *Log) asked() *int {
	if r := l.Request(); r != nil {
		return r.Request.Limits.Retries
	}
	return nil
}
