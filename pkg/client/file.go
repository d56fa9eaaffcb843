package client

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// The versions of the file format; a new one is needed if old readers could not read new files. ExportFormat is the version
// that is written; the first one has no journals.
const (
	ExportFormat      = "jobgraph.export.v2"
	firstExportFormat = "jobgraph.export.v1"
)

// maxLine limits one line of an export file. blobPart limits the part of a blob in one line; a longer blob continues in the
// next.
const (
	maxLine  = 256 << 20
	blobPart = 4 << 20
)

// ErrExport is wrapped by all errors about the content of an export file.
var ErrExport = errors.New("not a usable export file")

// Export is a job with everything that belongs to it, as one portable file: a header line, then one line per record of log
// and journals, per blob and, at the end, for the saved state.
type Export struct {
	// Job is the job's id; Prefix is that of the subjects in its records.
	Job    string
	Prefix string
	// Taken is when the export was made.
	Taken time.Time
	// Records is the log of the job, in order.
	Records []Record
	// Journals are the journal records of its SubJobs, in the order in which they were stored.
	Journals []Record
	// Blobs are the payloads that events refer to, by digest.
	Blobs map[string][]byte
	// State is the saved state at that moment, empty if there was none.
	State json.RawMessage
	// Timeline is what the job's graph looked like at every event, as verb.Timeline, so that a page can show it without a program
	// that folds the log; empty in older files, and if the log cannot be folded.
	Timeline json.RawMessage
}

// exportLine is any line; the fields that are set determine what it is.
type exportLine struct {
	Format string    `json:"format,omitempty"`
	Job    string    `json:"job,omitempty"`
	Prefix string    `json:"prefix,omitempty"`
	Taken  time.Time `json:"taken,omitzero"`
	// Lines is how many lines follow the header; 0 in older files.
	Lines int `json:"lines,omitempty"`
	// Timeline is part of the header, where older readers ignore it.
	Timeline json.RawMessage `json:"timeline,omitempty"`
	Blob     string          `json:"blob,omitempty"`
	Data     []byte          `json:"data,omitempty"`
	// More is true if the next line continues the same blob.
	More  bool            `json:"more,omitempty"`
	State json.RawMessage `json:"state,omitempty"`
	// Subject is set for a record; the line is then decoded as a record.
	Subject string `json:"subject,omitempty"`
}

// Digest identifies the content of an export: the SHA-256 over subjects and bodies of its records. Times and sequences are
// left out, since an imported job gets others.
func (x *Export) Digest() string {
	h := sha256.New()
	names := events.NewNames(x.Prefix)
	for _, r := range x.Records {
		subject, _ := strings.CutPrefix(r.Subject, names.Prefix()+".")
		fmt.Fprintf(h, "%s\n%d\n", subject, len(r.Body))
		h.Write(r.Body)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Events yields the decoded events of the export in order.
func (x *Export) Events() iter.Seq2[events.Event, error] {
	names := events.NewNames(x.Prefix)
	return func(yield func(events.Event, error) bool) {
		for _, r := range x.Records {
			e, ok := r.Event(names)
			if !ok {
				yield(e, fmt.Errorf("%w: subject %q does not belong to the log under prefix %q", ErrExport, r.Subject, names.Prefix()))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Resolved is like Events, with plan references resolved from the blobs of the export. Errors: also ErrExport for a plan
// that is not among them.
func (x *Export) Resolved() iter.Seq2[events.Event, error] {
	return joblog.Resolved(x.Events(), func(ref events.Ref) ([]byte, error) {
		text, found := x.Blobs[ref.Digest]
		if !found {
			return nil, fmt.Errorf("%w: blob %s is not in the file", ErrExport, ref.Digest)
		}
		return text, nil
	})
}

// Write writes the export in the current form of the file.
func (x *Export) Write(w io.Writer) error {
	out := json.NewEncoder(w)
	head := exportLine{Format: ExportFormat, Job: x.Job, Prefix: x.Prefix, Taken: x.Taken, Lines: x.lines(), Timeline: x.Timeline}
	if err := out.Encode(head); err != nil {
		return err
	}
	for _, r := range slices.Concat(x.Records, x.Journals) {
		if err := out.Encode(r); err != nil {
			return err
		}
	}
	for _, digest := range slices.Sorted(maps.Keys(x.Blobs)) {
		if err := writeBlob(out, digest, x.Blobs[digest]); err != nil {
			return err
		}
	}
	if len(x.State) == 0 {
		return nil
	}
	return out.Encode(exportLine{State: x.State})
}

// lines returns how many lines Write writes after the header.
func (x *Export) lines() int {
	n := len(x.Records) + len(x.Journals)
	for _, data := range x.Blobs {
		n += max(1, (len(data)+blobPart-1)/blobPart)
	}
	if len(x.State) > 0 {
		n++
	}
	return n
}

func writeBlob(out *json.Encoder, digest string, data []byte) error {
	for len(data) > blobPart {
		if err := out.Encode(exportLine{Blob: digest, Data: data[:blobPart], More: true}); err != nil {
			return err
		}
		data = data[blobPart:]
	}
	return out.Encode(exportLine{Blob: digest, Data: data})
}

// Save writes the file, compressed if its name ends in .gz. The file appears complete or not at all.
func (x *Export) Save(path string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".export-*")
	if err != nil {
		return fmt.Errorf("write export: %w", err)
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if err := x.writeTo(f, strings.HasSuffix(path, ".gz")); err != nil {
		return fmt.Errorf("write export: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write export: %w", err)
	}
	return os.Rename(f.Name(), path)
}

func (x *Export) writeTo(w io.Writer, zipped bool) error {
	buffer := bufio.NewWriter(w)
	if !zipped {
		return errors.Join(x.Write(buffer), buffer.Flush())
	}
	z := gzip.NewWriter(buffer)
	return errors.Join(x.Write(z), z.Close(), buffer.Flush())
}

// Load reads an export file, compressed or not.
func Load(path string) (*Export, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // It was only read.
	x, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return x, nil
}

// Read reads an export file, compressed or not. A file of bare records without a header is accepted too; its job and prefix
// are then taken from the first record's subject.
func Read(r io.Reader) (*Export, error) {
	buffer := bufio.NewReader(r)
	if magic, err := buffer.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		z, err := gzip.NewReader(buffer)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrExport, err)
		}
		buffer = bufio.NewReader(z)
	}
	in := reading{x: &Export{Blobs: map[string][]byte{}}}
	lines := bufio.NewScanner(buffer)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		if err := in.take(bytes.TrimSpace(lines.Bytes())); err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrExport, n, early(err))
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrExport, early(err))
	}
	if err := in.whole(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrExport, err)
	}
	return in.x, in.x.complete()
}

// early turns an unexpected end of the file into an error that says it was cut off; it returns any other error unchanged.
func early(err error) error {
	var syntax *json.SyntaxError
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &syntax) && syntax.Error() == "unexpected end of JSON input" {
		return fmt.Errorf("it was cut off, export the job again: %w", err)
	}
	return err
}

// reading is the state of reading an export file.
type reading struct {
	x *Export
	// headed is true after the header; said is the number of lines that the header announces, 0 if none; taken is how many
	// were read.
	headed      bool
	said, taken int
	// open is the digest of a blob that continues in the next line, and part its bytes so far.
	open string
	part []byte
}

// whole checks that the file has as many lines as announced.
func (in *reading) whole() error {
	switch {
	case in.open != "":
		return fmt.Errorf("it ends within blob %.64s: it was cut off, export the job again", in.open)
	case in.taken < in.said:
		return fmt.Errorf("it holds %d of the %d lines that its header promises: it was cut off, export the job again "+
			"(or, when lines were taken out on purpose, take `lines` out of the header)", in.taken, in.said)
	case in.said > 0 && in.taken > in.said:
		return fmt.Errorf("it holds %d lines, more than the %d that its header promises: something was appended to it, export the job again "+
			"(or, when lines were added on purpose, take `lines` out of the header)", in.taken, in.said)
	}
	return nil
}

// blob reads a blob, or the next part of one.
func (in *reading) blob(line *exportLine) error {
	if in.open != "" && line.Blob != in.open {
		return fmt.Errorf("blob %.64s is not at its end yet", in.open)
	}
	if in.open = ""; line.More {
		in.open = line.Blob
		in.part = append(in.part, line.Data...)
		return nil
	}
	data := line.Data
	if in.part != nil {
		data, in.part = append(in.part, data...), nil
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != line.Blob {
		return fmt.Errorf("the bytes of blob %.64s are not those of its digest", line.Blob)
	}
	in.x.Blobs[line.Blob] = data
	return nil
}

func (in *reading) take(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	x := in.x
	var line exportLine
	if err := json.Unmarshal(text, &line); err != nil {
		return err
	}
	switch {
	case line.Format != "" && line.Format != ExportFormat && line.Format != firstExportFormat:
		return fmt.Errorf("format %.80q, this version reads %q and %q", line.Format, firstExportFormat, ExportFormat)
	case line.Format != "" && in.headed:
		return errors.New("a second header: one file holds one job")
	case line.Format != "":
		in.headed = true
		x.Job, x.Prefix, x.Taken, x.Timeline = line.Job, line.Prefix, line.Taken, line.Timeline
		in.said = line.Lines
		return nil
	case line.Subject != "":
		var r Record
		if err := json.Unmarshal(text, &r); err != nil {
			return err
		}
		x.Records = append(x.Records, r)
	case line.Blob != "":
		if err := in.blob(&line); err != nil {
			return err
		}
	case line.State != nil:
		x.State = line.State
	default:
		return errors.New("neither header, record, blob nor state")
	}
	in.taken++
	return nil
}

// complete sets job and prefix from the records, separates the journals' records from the others, and checks that all
// belong to the job.
func (x *Export) complete() error {
	if len(x.Records) == 0 {
		return fmt.Errorf("%w: it holds no records", ErrExport)
	}
	if x.Prefix == "" {
		x.Prefix, _, _ = strings.Cut(x.Records[0].Subject, ".")
	}
	names := events.NewNames(x.Prefix)
	log := x.Records[:0:0]
	for i, r := range x.Records {
		at, ok := names.Parse(r.Subject)
		switch {
		case x.Job != "" && x.subJobOf(r) != "":
			x.Journals = append(x.Journals, r)
			continue
		case !ok:
			return fmt.Errorf("%w: record %d: subject %.120q does not belong to the log under prefix %q", ErrExport, i+1, r.Subject, x.Prefix)
		case x.Job == "":
			x.Job = at.Job
		case at.Job != x.Job:
			return fmt.Errorf("%w: record %d is of job %s, the file of job %s", ErrExport, i+1, at.Job, x.Job)
		}
		log = append(log, r)
	}
	if x.Records = log; len(log) == 0 {
		return fmt.Errorf("%w: it holds no events", ErrExport)
	}
	return nil
}

// subJobOf returns the SubJob to whose journal a record belongs, "" for a record of the log.
func (x *Export) subJobOf(r Record) string {
	subjob, ok := strings.CutPrefix(r.Subject, events.NewNames(x.Prefix).JournalOf(x.Job, ""))
	if !ok || !events.ValidToken(subjob) {
		return ""
	}
	return subjob
}
