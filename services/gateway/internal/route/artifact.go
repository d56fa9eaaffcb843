package route

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/artifact"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// artifacts lists the files of a job, or of one SubJob.
func artifacts(c *call) error {
	log, err := c.gateway.Client.Logs().Fold(c.r.Context(), c.text("id"), 0)
	if err != nil {
		return err
	}
	out := verb.ArtifactList{Artifacts: []verb.ArtifactLine{}}
	for _, a := range log.Artifacts(c.text("subjob")) {
		out.Artifacts = append(out.Artifacts, verb.ArtifactLine{SubJob: a.SubJob, Run: a.Run, Ref: a.Ref})
	}
	return c.reply(out)
}

// leastDigest is the least length of a digest prefix that can name a file.
const leastDigest = 8

// artifactOf sends a file, or a range of it. A browser saves it and never shows it, since runs chose its name, type and content.
func artifactOf(c *call) error {
	log, a, err := c.artifact()
	if err != nil {
		return err
	}
	blob := &blobReader{ctx: c.r.Context(), size: a.Size, fetch: func(ctx context.Context, w io.Writer) error {
		return c.gateway.Client.Fetch(ctx, log.Job.ID, a.Ref, w)
	}}
	defer blob.close()
	if err := blob.probe(); err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("Content-Type", mediaOf(a.MediaType))
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(path.Clean("/" + plain(a.Name)))}))
	h.Set("ETag", `"`+a.Digest+`"`)
	h.Set("Cache-Control", "private, no-cache")
	c.sent = true
	if strings.Contains(c.r.Header.Get("Range"), ",") {
		c.r.Header.Del("Range") // Each of several ranges would read the file again from its beginning: the whole file is less.
	}
	p := &plainly{ResponseWriter: paced{c.w, http.NewResponseController(c.w), c.gateway.Write}, under: c.w}
	http.ServeContent(p, c.r, "", time.Time{}, blob)
	if blob.err != nil {
		panic(http.ErrAbortHandler) // A truncated file must not look complete.
	}
	if p.status != 0 { // It is a range that the file does not have.
		h.Del("Content-Disposition")
		refuseAs(c.w, c.r, p.status, &events.Fault{Code: events.CodeInvalid, Field: "Range", Message: strings.TrimSpace(p.text.String()), Hint: fmt.Sprintf("the file has %d bytes, from 0: ask for some of them, or leave the header out", blob.size)})
	}
	return nil
}

// artifact finds the file that a call names.
func (c *call) artifact() (*joblog.Log, *joblog.Artifact, error) {
	log, err := c.gateway.Client.Logs().Fold(c.r.Context(), c.text("id"), 0)
	if err != nil {
		return nil, nil, err
	}
	name := c.text("name")
	a := find(log.Artifacts(""), name)
	if a == nil {
		return nil, nil, &events.Fault{Code: events.CodeNotFound, Field: "name", Message: "the job has no file " + clip(name), Hint: "GET /api/v1/jobs/" + log.Job.ID + "/artifacts lists them"}
	}
	return log, a, nil
}

func find(list []joblog.Artifact, name string) *joblog.Artifact {
	subjob, file, _ := artifact.Split(name)
	for i := range list {
		a := &list[i]
		if a.SubJob+"/"+a.Name == name || a.SubJob == subjob && a.Name == file || len(name) >= leastDigest && strings.HasPrefix(a.Digest, name) {
			return a
		}
	}
	return nil
}

// mediaOf returns a media type that a run has given, if it is valid.
func mediaOf(given string) string {
	if given == "" {
		return "application/json"
	}
	kind, parameters, err := mime.ParseMediaType(given)
	if err != nil {
		return "application/octet-stream"
	}
	if text := mime.FormatMediaType(kind, parameters); text != "" {
		return text
	}
	return "application/octet-stream"
}

// plain removes characters that do not belong in a header.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '"' || r == '\\' {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
}

// paced is a response whose reader must take something from time to time.
type paced struct {
	http.ResponseWriter
	to    *http.ResponseController
	limit time.Duration
}

// Write implements io.Writer.
func (p paced) Write(b []byte) (int, error) {
	if err := p.to.SetWriteDeadline(time.Now().Add(p.limit)); err != nil {
		return 0, err
	}
	return p.ResponseWriter.Write(b)
}

// blobReader makes a payload seekable: each seek starts reading again.
type blobReader struct {
	ctx   context.Context // Stored, since io.Reader has none.
	size  int64
	fetch func(ctx context.Context, w io.Writer) error
	at    int64
	from  *io.PipeReader
	end   context.CancelFunc
	err   error // The first error, except io.EOF.
}

// probe begins to read, so that a missing payload is refused before an answer begins.
func (b *blobReader) probe() error {
	if b.size == 0 {
		return nil
	}
	var first [1]byte
	_, err := io.ReadFull(b, first[:])
	if err != nil {
		return err
	}
	_, err = b.Seek(0, io.SeekStart)
	return err
}

// Read implements io.Reader.
func (b *blobReader) Read(p []byte) (int, error) {
	if b.at >= b.size {
		return 0, io.EOF
	}
	if b.from == nil {
		b.open()
	}
	n, err := b.from.Read(p)
	b.at += int64(n)
	if errors.Is(err, io.EOF) && b.at < b.size {
		err = fmt.Errorf("%w: the payload ends at %d of %d bytes", io.ErrUnexpectedEOF, b.at, b.size)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

// open begins to fetch, skipping what precedes the position.
func (b *blobReader) open() {
	ctx, end := context.WithCancel(b.ctx)
	from, into := io.Pipe()
	b.from, b.end = from, end
	skip := &skipWriter{w: into, left: b.at}
	go func() { _ = into.CloseWithError(b.fetch(ctx, skip)) }() // Ends with the payload, or when from is closed.
}

// Seek implements io.Seeker.
func (b *blobReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += b.at
	case io.SeekEnd:
		offset += b.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the beginning")
	}
	if offset != b.at {
		b.close()
		b.at = offset
	}
	return offset, nil
}

func (b *blobReader) close() {
	if b.from != nil {
		b.end()
		_ = b.from.Close() // It never fails.
		b.from = nil
	}
}

// skipWriter drops the first bytes that are written to it.
type skipWriter struct {
	w    io.Writer
	left int64
}

// Write implements io.Writer.
func (s *skipWriter) Write(p []byte) (int, error) {
	drop := min(s.left, int64(len(p)))
	s.left -= drop
	if drop == int64(len(p)) {
		return len(p), nil
	}
	n, err := s.w.Write(p[drop:])
	return int(drop) + n, err
}
