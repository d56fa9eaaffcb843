package a2a_test

import (
	"bytes"
	"context"
	"io"
	"testing"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/a2a"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/a2a/a2atest"
)

func TestFilesGoOutWithTheFirstMessageAsFarAsThereIsRoom(t *testing.T) {
	play := func(s *a2atest.Stage) {
		s.Begin()
		if s.Fresh {
			s.Say(sdk.TaskStateInputRequired, "Which page?")
			return
		}
		s.Say(sdk.TaskStateCompleted, "read")
	}
	everyWay(t, play, func(t *testing.T, agent *a2atest.Agent, c a2a.Config) {
		picture, read := []byte{0x89, 'P', 0xff, 0}, 0
		x := expertOf(t, c)
		with := func(h *hand, w *events.Work) *events.InputRequested {
			w.Attachments = []events.Ref{{Digest: "d1", Size: 4, Name: "p.png", MediaType: "image/png"}, {Digest: "d2", Size: 1 << 30, Name: "film"}}
			w.Results["b"] = events.Result{OutputRef: &events.Ref{Digest: "d3", Size: 4, MediaType: "audio/ogg"}, Artifacts: []events.Ref{{Digest: "d4", Size: 4, Name: "t.csv"}}}
			task := taskOf(h, w)
			task.Payload = func(_ context.Context, ref events.Ref, to io.Writer) error {
				read++
				if ref.Digest == "d2" {
					t.Error("a file without room was read")
				}
				_, err := to.Write(picture)
				return err
			}
			return x.Run(t.Context(), task).Park
		}
		h := &hand{}
		in := with(h, work())
		if in == nil {
			t.Fatal("it did not ask")
		}
		with(h, resumed(in.Request, `"1"`))
		heard := agent.Heard()
		if len(heard) != 2 || read != 3 {
			t.Fatalf("%d messages, %d files read", len(heard), read)
		}
		parts := heard[0].Message.Parts
		if len(parts) != 5 || parts[2].Filename != "p.png" || parts[2].MediaType != "image/png" || !bytes.Equal(parts[2].Raw(), picture) || parts[3].Filename != "b" || parts[3].MediaType != "audio/ogg" || parts[4].Filename != "t.csv" {
			t.Errorf("%+v", parts)
		}
		if len(heard[1].Message.Parts) != 1 {
			t.Errorf("%+v", heard[1].Message.Parts)
		}
	})
}

func TestAFileThatIsGoneOrNotWhatItSaysIsTyped(t *testing.T) {
	agent := a2atest.Start(t, a2atest.Settings{}, func(s *a2atest.Stage) { s.Answer("hi") })
	w := work()
	w.Attachments = []events.Ref{{Digest: "d1", Size: 4}}
	task := taskOf(&hand{}, w)
	task.Payload = func(context.Context, events.Ref, io.Writer) error {
		return &events.Fault{Code: events.CodeMissingBlob, Message: "a payload is gone"}
	}
	failed(t, expertOf(t, a2a.Config{Agent: agent.URL}).Run(t.Context(), task), events.CodeMissingBlob, "gone")
	task.Hand, task.Payload = &hand{}, func(_ context.Context, _ events.Ref, to io.Writer) error {
		_, err := to.Write(make([]byte, 5))
		return err
	}
	failed(t, expertOf(t, a2a.Config{Agent: agent.URL}).Run(t.Context(), task), events.CodeTooLarge, "than the 4 bytes")
	if len(agent.Heard()) != 0 {
		t.Error("a message went out without its files")
	}
}
