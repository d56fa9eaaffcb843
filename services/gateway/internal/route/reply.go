package route

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/gateway/internal/openai"
)

// leastZipped is the size in bytes from which an answer is compressed.
const leastZipped = 1024

var zippers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// reply sends a value as JSON.
func reply(w http.ResponseWriter, r *http.Request, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		refuse(w, r, &events.Fault{Code: events.CodeInternal, Message: "the answer cannot be written as JSON", Cause: err.Error()})
		return
	}
	send(w, r, status, "application/json", text)
}

// send sends a body: with an ETag for reads, compressed if the client accepts that.
func send(w http.ResponseWriter, r *http.Request, status int, media string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", media)
	h.Add("Vary", "Accept-Encoding, Accept")
	if r.Method == http.MethodGet && status == http.StatusOK {
		tag := h.Get("ETag")
		if tag == "" {
			sum := sha256.Sum256(body)
			tag = `W/"` + hex.EncodeToString(sum[:12]) + `"`
			h.Set("ETag", tag)
		}
		h.Set("Cache-Control", "private, no-cache")
		if matches(r.Header.Get("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if len(body) < leastZipped || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.WriteHeader(status)
		_, _ = w.Write(body) // The client is gone if this fails.
		return
	}
	var zipped bytes.Buffer
	z, ok := zippers.Get().(*gzip.Writer)
	if !ok {
		z = gzip.NewWriter(nil)
	}
	defer zippers.Put(z)
	z.Reset(&zipped)
	_, _ = z.Write(body) // Writing to a buffer does not fail.
	_ = z.Close()
	h.Set("Content-Encoding", "gzip")
	w.WriteHeader(status)
	_, _ = w.Write(zipped.Bytes()) // The client is gone if this fails.
}

// matches reports whether a list of ETags contains one, or is "*".
func matches(list, tag string) bool {
	for one := range strings.SplitSeq(list, ",") {
		if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}

// problem is a fault in the form of RFC 9457.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	*events.Fault
	// Faults lists all faults if there are several; JobID is the job that they concern.
	Faults events.Faults `json:"faults,omitempty"`
	JobID  string        `json:"job_id,omitempty"`
}

// refuse sends a fault with the status for its code.
func refuse(w http.ResponseWriter, r *http.Request, fault *events.Fault) {
	refuseAs(w, r, verb.Status(fault.Code), fault)
}

func refuseAs(w http.ResponseWriter, r *http.Request, status int, fault *events.Fault) {
	refuseAll(w, r, status, fault, nil, "")
}

// refuseAll sends all faults in the form that clients of the path expect.
func refuseAll(w http.ResponseWriter, r *http.Request, status int, fault *events.Fault, all events.Faults, job string) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Del("ETag")
	if strings.HasPrefix(r.URL.Path, likeOpenAI) {
		h.Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(openai.Fault(status, fault)) // The client is gone if this fails.
		return
	}
	p := problem{Type: "urn:jobgraph:fault:" + string(fault.Code), Title: http.StatusText(status), Status: status, Detail: fault.Error(), Fault: fault, JobID: job}
	if len(all) > 1 {
		p.Faults = all
	}
	text, _ := json.Marshal(p) // Strings and numbers can always be encoded.
	h.Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // The client is gone if this fails.
}

// likeOpenAI begins the paths of OpenAI's API.
const likeOpenAI = "/v1/"

// clip shortens a text of the sender for a message.
func clip(text string) string {
	const most = 80
	if len(text) > most {
		text = text[:most]
	}
	return strings.ToValidUTF8(text, "?")
}
