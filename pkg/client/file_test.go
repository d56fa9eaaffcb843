package client_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func sample(t *testing.T) *client.Export {
	t.Helper()
	names := events.NewNames("")
	record := func(seq uint64, body string) client.Record {
		return client.Record{
			Subject: names.RunEvent("j1", events.KindSubJobReported, "a", int(seq)), Seq: seq, Time: time.Unix(int64(seq), 7).UTC(),
			Header: map[string][]string{events.HeaderID: {"x"}}, Body: []byte(body),
		}
	}
	return &client.Export{
		Job: "j1", Prefix: "jobs", Taken: time.Unix(9, 0).UTC(), State: json.RawMessage(`{"id":"j1"}`),
		Blobs: map[string][]byte{"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824": []byte("hello")},
		Records: []client.Record{
			record(1, `{"outcome":"SUCCESS"}`), record(2, `{ "outcome": "<b>" }`), record(3, "\x00\xff not json"), record(4, "null"), record(5, ""),
		},
		Journals: []client.Record{
			{Subject: names.JournalOf("j1", "a"), Seq: 3, Time: time.Unix(3, 0).UTC(), Body: []byte(`{"type":"claimed","run":1}`)},
			{Subject: names.JournalOf("j1", "~plan"), Seq: 4, Time: time.Unix(4, 0).UTC(), Body: []byte("no record")},
		},
	}
}

func TestExportComesBackByteForByte(t *testing.T) {
	want := sample(t)
	for _, name := range []string{"job.jsonl", "job.jsonl.gz"} {
		path := filepath.Join(t.TempDir(), name)
		musttest.Do(t, want.Save(path))
		got := musttest.Get(client.Load(path))(t)
		if diff := cmp.Diff(bodies(want), bodies(got)); diff != "" {
			t.Errorf("%s: bodies (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(want.Journals, got.Journals); diff != "" {
			t.Errorf("%s: journals (-want +got):\n%s", name, diff)
		}
		if entry := got.Journal("a"); len(entry) != 1 || entry[0].Type != events.JournalClaimed || entry[0].Seq != 3 {
			t.Errorf("%s: journal of a: %+v", name, entry)
		}
		if entry := got.Journal("~plan"); len(entry) != 1 || entry[0].Malformed == "" {
			t.Errorf("%s: journal of ~plan: %+v", name, entry)
		}
		if got.Digest() != want.Digest() {
			t.Errorf("%s: digest differs", name)
		}
		if diff := cmp.Diff(want.Blobs, got.Blobs); diff != "" {
			t.Errorf("%s: blobs (-want +got):\n%s", name, diff)
		}
	}
}

func bodies(x *client.Export) []string {
	list := make([]string, 0, len(x.Records))
	for _, r := range x.Records {
		list = append(list, r.Time.String()+r.Subject+string(r.Body))
	}
	return list
}

func TestExportRefusesWhatItCannotTrust(t *testing.T) {
	for name, text := range map[string]string{
		"empty":          "",
		"no JSON":        "hello\n",
		"other format":   `{"format":"jobgraph.export.v9"}`,
		"wrong digest":   `{"blob":"aa","data":"aGVsbG8="}`,
		"foreign record": `{"subject":"orders.new","seq":1,"time":"2026-01-01T00:00:00Z"}`,
		"only a journal": `{"format":"jobgraph.export.v2","job":"j1","prefix":"jobs"}` + "\n" + `{"subject":"jobs.journal.j1.a","seq":1,"time":"2026-01-01T00:00:00Z"}`,
		"other journal":  `{"format":"jobgraph.export.v2","job":"j1","prefix":"jobs"}` + "\n" + `{"subject":"jobs.journal.j2.a","seq":1,"time":"2026-01-01T00:00:00Z"}`,
		"unknown line":   `{"what":1}`,
		"cut gzip":       "\x1f\x8b\x08",
	} {
		if _, err := client.Read(strings.NewReader(text)); !errors.Is(err, client.ErrExport) {
			t.Errorf("%s: got %v, want ErrExport", name, err)
		}
	}
}

func TestAnExportThatWasCutOffIsNotReadAsWhole(t *testing.T) {
	x := sample(t)
	var text bytes.Buffer
	musttest.Do(t, x.Write(&text))
	lines := strings.SplitAfter(strings.TrimSpace(text.String()), "\n")
	for n := 1; n < len(lines); n++ {
		_, err := client.Read(strings.NewReader(strings.Join(lines[:n], "")))
		if want := fmt.Sprintf("holds %d of the %d lines", n-1, len(lines)-1); !errors.Is(err, client.ErrExport) || !strings.Contains(err.Error(), want) {
			t.Errorf("the first %d of %d lines: got %v, want %q", n, len(lines), err, want)
		}
	}
	unsaid := strings.Replace(text.String(), fmt.Sprintf(`,"lines":%d`, len(lines)-1), "", 1)
	if _, err := client.Read(strings.NewReader(unsaid[:strings.LastIndexByte(strings.TrimSpace(unsaid), '\n')])); err != nil {
		t.Errorf("a file that does not say how long it is: %v", err)
	}
}

func TestAFileThatEndsWithinALineOrHoldsMoreThanOneExportIsRefusedAsSuch(t *testing.T) {
	var text, zipped bytes.Buffer
	musttest.Do(t, sample(t).Write(&text))
	z := gzip.NewWriter(&zipped)
	musttest.Get(z.Write(text.Bytes()))(t)
	musttest.Do(t, z.Close())
	whole := text.String()
	last := whole[strings.LastIndexByte(strings.TrimSpace(whole), '\n')+1:]
	for file, want := range map[string]string{
		whole[:len(whole)-5]:             "was cut off",
		zipped.String()[:zipped.Len()/2]: "was cut off",
		zipped.String()[:zipped.Len()-4]: "was cut off",
		whole + whole:                    "second header",
		whole + last:                     "more than the",
		"hello\n":                        "line 1: invalid character",
	} {
		if _, err := client.Read(strings.NewReader(file)); !errors.Is(err, client.ErrExport) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestABlobOfSeveralLinesComesBack(t *testing.T) {
	x := sample(t)
	data := bytes.Repeat([]byte("0123456789abcdef"), 640<<10) // 10 MiB are three lines.
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	x.Blobs[digest] = data
	var text bytes.Buffer
	musttest.Do(t, x.Write(&text))
	got, err := client.Read(bytes.NewReader(text.Bytes()))
	if err != nil || !bytes.Equal(got.Blobs[digest], data) || len(got.Blobs) != 2 || got.State == nil {
		t.Errorf("%d blobs: %v", len(got.Blobs), err)
	}
	head, rest, _ := strings.Cut(text.String(), `,"more":true}`+"\n")
	_, rest, _ = strings.Cut(rest, "\n")
	for name, wrong := range map[string]string{
		"ends within": head + `,"more":true}` + "\n", "not those of its digest": head + "}\n", "not at its end": head + `,"more":true}` + "\n" + `{"blob":"aa"}`,
		"are not those of": head + `,"more":true}` + "\n" + rest,
	} {
		if _, err := client.Read(strings.NewReader(wrong)); !errors.Is(err, client.ErrExport) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestAnExportOfTheFirstFormIsReadStill(t *testing.T) {
	var text bytes.Buffer
	x := sample(t)
	x.Journals = nil
	musttest.Do(t, x.Write(&text))
	got, err := client.Read(strings.NewReader(strings.Replace(text.String(), "jobgraph.export.v2", "jobgraph.export.v1", 1)))
	if err != nil || got.Digest() != x.Digest() || len(got.Journals) != 0 {
		t.Errorf("%+v: %v", got, err)
	}
}

func FuzzReadNeverPanics(f *testing.F) {
	var text bytes.Buffer
	f.Add([]byte(`{"format":"jobgraph.export.v1","job":"j1"}`))
	f.Add([]byte(`{"format":"jobgraph.export.v2","job":"j1"}` + "\n" + `{"subject":"jobs.journal.j1.a","body":{}}`))
	f.Add([]byte(`{"subject":"jobs.event.1.j1.control","body":{}}`))
	f.Add(text.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := client.Read(bytes.NewReader(data))
		if err == nil && x.Job == "" {
			t.Error("an export without a job")
		}
	})
}
