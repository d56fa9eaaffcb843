package main_test

import (
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// plays runs the commands of a page in order, each once all jobs have ended or wait, and compares their output with the page.
func plays(s *script, args []string) {
	page, err := os.ReadFile(s.MkAbs(args[0]))
	s.Check(err)
	played := 0
	for at, block := range strings.Split(string(page), "\n```") {
		if at%2 == 0 {
			continue
		}
		for _, said := range strings.Split("\n"+block, "\n$ ")[1:] {
			line, want, _ := strings.Cut(said, "\n")
			s.settle()
			s.Check(s.Exec("jobgraph", arguments(line)[1:]...))
			got := s.ReadFile("stderr") + s.ReadFile("stdout")
			if diff := cmp.Diff(timeless(want), timeless(got)); diff != "" {
				s.Fatalf("%s says otherwise (-page +program):\n%s\nall of it:\n%s", line, diff, got)
			}
			played++
		}
	}
	if played == 0 {
		s.Fatalf("%s has no command", args[0])
	}
}

// settle waits until each job has ended or asks something, and until lists show that.
func (s *script) settle() {
	jobs, err := s.List(s.ctx, client.Query{})
	s.Check(err)
	for _, j := range jobs {
		h, err := s.Logs().Fold(s.ctx, j.ID, 0)
		s.Check(err)
		if !rests(h) {
			for e, err := range s.Watch(s.ctx, j.ID, h.Events[len(h.Events)-1].Seq+1) {
				s.Check(err)
				s.Check(h.Step(e))
				if rests(h) {
					break
				}
			}
		}
		s.Check(untilSaved(s.ctx, s.Client, j.ID, h.Job.View().Status))
	}
}

// rests reports whether a job has ended or waits for a person.
func rests(h *joblog.Log) bool {
	v := h.Job.View()
	asks := slices.ContainsFunc(v.Inputs, func(in *graph.InputState) bool { return in.Kind != events.InputTimer && in.Closing == "" })
	return asks || v.Status.Terminal() && !v.EndOwed
}

// arguments splits a line like a shell that knows only single quotes.
func arguments(line string) (words []string) {
	for at, part := range strings.Split(line, "'") {
		if at%2 == 1 {
			words = append(words, part)
			continue
		}
		words = append(words, strings.Fields(part)...)
	}
	return words
}

// times matches the times in the output of commands.
var times = regexp.MustCompile(`\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\dZ)?)?|\d\d:\d\d:\d\d`)

// timeless returns a text without its times and without spaces at the ends of lines.
func timeless(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = times.ReplaceAllString(strings.TrimRight(line, " "), "…")
	}
	return strings.Join(lines, "\n")
}
