package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/search"
)

// SearchWeb is the name of the tool that searches the web.
const SearchWeb = "search_web"

// standardResults is how many results a call returns by default.
const standardResults = 8

// maxQuery is the longest query, in bytes.
const maxQuery = 1000

// Searching returns the tool over a provider. A call returns at most this many results; 0 means as many as the provider allows.
func Searching(c *search.Client, most int) Tool {
	if most == 0 {
		most = search.MostResults
	}
	most = min(most, search.MostResults)
	return Tool{
		Name: SearchWeb, Description: "Searches the web and gives titles, addresses, dates and excerpts. Open what matters with " + Fetch + ".",
		Schema: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"query":{"type":"string"},`+
			`"count":{"type":"integer","minimum":1,"maximum":%d},"since":{"enum":["day","week","month","year"],"description":"results not older than that"}},"required":["query"]}`,
			most)),
		Call: func(ctx context.Context, call Call) (string, error) { return searchWeb(ctx, c, call, most) },
	}
}

func searchWeb(ctx context.Context, c *search.Client, call Call, most int) (string, error) {
	var a struct {
		Query string `json:"query"`
		Count int    `json:"count"`
		Since string `json:"since"`
	}
	if err := decode(call.Args, &a); err != nil {
		return "", err
	}
	switch {
	case strings.TrimSpace(a.Query) == "" || len(a.Query) > maxQuery:
		return "", fmt.Errorf("bad arguments: query is needed, at most %d bytes", maxQuery)
	case a.Count < 0 || a.Count > most:
		return "", fmt.Errorf("bad arguments: count is 1 to %d", most)
	case !slices.Contains([]string{"", "day", "week", "month", "year"}, a.Since):
		return "", errors.New("bad arguments: since is day, week, month or year")
	}
	if a.Count == 0 {
		a.Count = min(standardResults, most)
	}
	results, err := c.Search(ctx, search.Query{Text: a.Query, Most: a.Count, Since: a.Since, Now: time.Now()})
	if err != nil {
		return "", err
	}
	if len(results) == 0 {
		return "(nothing found: try other words)", nil
	}
	var b strings.Builder
	for i, r := range results {
		fmt.Fprintf(&b, "%d. %s\n   %s\n", i+1, r.Title, r.URL)
		if rest := strings.TrimSpace(r.Date + "  " + r.Text); rest != "" {
			fmt.Fprintf(&b, "   %s\n", rest)
		}
	}
	return b.String(), nil
}
