package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/verb"
)

// verbPage documents the table of verbs.
func verbPage() []byte {
	var b bytes.Buffer
	b.WriteString(`# Verbs
Everything that a program can ask, on the bus as ` + "`jobs.api.<verb>`" + ` and over HTTP as a route. Generated from ` + "`pkg/verb/table.go`" + `; [http](http.md) says how
routes are used, ` + "`/openapi.json`" + ` has the schemas. The role admin may do everything.

| verb | what it does | HTTP | bus | roles | effect |
|---|---|---|---|---|---|
`)
	for _, v := range verb.All() {
		var routes []string
		for _, path := range v.Paths() {
			routes = append(routes, "`"+v.Method+" "+path+"`")
		}
		on := "–"
		if v.On != "" {
			on = v.On
		}
		at := strings.Join(routes, ", ")
		if v.Stream != "" {
			at += " (JSON, or a stream)"
		}
		if at == "" {
			at = "–"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", v.Name, v.About, at, on, strings.TrimSuffix(v.Needs(), " or admin"), v.Effect)
	}
	return b.Bytes()
}
