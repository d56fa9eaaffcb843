package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// StreamFacts is the state of a stream as reported by the server.
type StreamFacts struct {
	// Name is the name of the stream. Created identifies its incarnation: a recreated stream has another.
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	// Messages and Bytes are its contents, Subjects the number of different subjects.
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
	Subjects uint64 `json:"subjects"`
	// FirstSeq and LastSeq are the first and last sequence; LastSeq does not fall when messages are removed.
	FirstSeq uint64 `json:"first_seq"`
	LastSeq  uint64 `json:"last_seq"`
	// MaxMessages and MaxBytes are its limits, -1 for none.
	MaxMessages int64 `json:"max_messages"`
	MaxBytes    int64 `json:"max_bytes"`
	// Replicas is the number of its replicas, Consumers that of its consumers.
	Replicas  int `json:"replicas"`
	Consumers int `json:"consumers"`
}

// Full returns how full the stream is, from 0 to 1; 0 without limits.
func (f StreamFacts) Full() float64 {
	full := 0.0
	if f.MaxMessages > 0 {
		full = float64(f.Messages) / float64(f.MaxMessages)
	}
	if f.MaxBytes > 0 {
		full = max(full, float64(f.Bytes)/float64(f.MaxBytes))
	}
	return full
}

// Info returns the state of a stream. Errors: ErrNotFound, ErrUnavailable.
func (s Streams) Info(ctx context.Context, stream string) (StreamFacts, error) {
	found, err := s.bus.js.Stream(ctx, stream)
	if err != nil {
		return StreamFacts{}, fmt.Errorf("read stream %s: %w", stream, class(err))
	}
	info := found.CachedInfo()
	return StreamFacts{
		Name: stream, Created: info.Created, Messages: info.State.Msgs, Bytes: info.State.Bytes,
		Subjects: info.State.NumSubjects, FirstSeq: info.State.FirstSeq, LastSeq: info.State.LastSeq,
		MaxMessages: info.Config.MaxMsgs, MaxBytes: info.Config.MaxBytes, Replicas: info.Config.Replicas,
		Consumers: info.State.Consumers,
	}, nil
}

// List returns the state of all streams of the topology that exist.
func (s Streams) List(ctx context.Context) ([]StreamFacts, error) {
	var list []StreamFacts
	for _, cfg := range streams(s.bus.names) {
		facts, err := s.Info(ctx, cfg.Name)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, facts)
	}
	return list, nil
}

// ConsumerFacts is the state of a durable consumer as reported by the server.
type ConsumerFacts struct {
	// Pending counts messages still to be delivered, Unsettled the deliveries without acknowledgement.
	Pending   uint64 `json:"pending"`
	Unsettled int    `json:"unsettled"`
	// Redelivered counts the unsettled deliveries that were delivered more than once.
	Redelivered int `json:"redelivered"`
	// Waiting counts the open pull requests: 0 means that there is no reader.
	Waiting int `json:"waiting"`
	// AckFloor is the stream sequence up to which everything is settled.
	AckFloor uint64 `json:"ack_floor"`
	// Seen is the stream sequence of the last delivered message.
	Seen uint64 `json:"seen"`
	// Pinned is true when a reader holds the pin of a pinned consumer.
	Pinned bool `json:"pinned,omitempty"`
	// Bounded is true if a limit on unsettled deliveries was set, and Limit is that limit.
	Bounded bool `json:"-"`
	Limit   int  `json:"-"`
}

// Info returns the state of a consumer. Errors: ErrNotFound, ErrUnavailable.
func (q *Queues) Info(ctx context.Context, stream, durable string) (ConsumerFacts, error) {
	c, err := q.bus.js.Consumer(ctx, stream, durable)
	if err != nil {
		return ConsumerFacts{}, fmt.Errorf("read consumer %s of %s: %w", durable, stream, class(err))
	}
	return factsOf(c.CachedInfo()), nil
}

func factsOf(info *jetstream.ConsumerInfo) ConsumerFacts {
	facts := ConsumerFacts{
		Pending: info.NumPending, Unsettled: info.NumAckPending, Redelivered: info.NumRedelivered, Waiting: info.NumWaiting,
		AckFloor: info.AckFloor.Stream, Seen: info.Delivered.Stream,
		Bounded: info.Config.MaxAckPending < defaultInFlight,
	}
	if facts.Bounded {
		facts.Limit = info.Config.MaxAckPending
	}
	for _, group := range info.PriorityGroups {
		facts.Pinned = facts.Pinned || group.PinnedClientID != ""
	}
	return facts
}

// Pools returns the state of the consumers of all pools, by pool; batches have a pool of their own. Errors: ErrNotFound,
// ErrUnavailable.
func (q *Queues) Pools(ctx context.Context) (map[string]ConsumerFacts, error) {
	return q.named(ctx, q.bus.names.Work, poolDurable)
}

// named returns the state of the consumers of a stream whose names begin with a text, by the rest of their names.
func (q *Queues) named(ctx context.Context, name, prefix string) (map[string]ConsumerFacts, error) {
	stream, err := q.bus.js.Stream(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("list consumers of %s: %w", name, class(err))
	}
	found := map[string]ConsumerFacts{}
	list := stream.ListConsumers(undated{ctx})
	for info := range list.Info() {
		if rest, ok := strings.CutPrefix(info.Name, prefix); ok {
			found[rest] = factsOf(info)
		}
	}
	if err := list.Err(); err != nil {
		return nil, fmt.Errorf("list consumers of %s: %w", name, class(err))
	}
	return found, nil
}

// Server describes the NATS server that this connection uses.
type Server struct {
	// Version and ID are those of the server; URL is its address, without credentials.
	Version string `json:"version"`
	ID      string `json:"id"`
	URL     string `json:"url"`
	// APILevel is the level of its JetStream API, Domain its JetStream domain.
	APILevel int    `json:"api_level"`
	Domain   string `json:"domain,omitempty"`
	// Storage is the number of bytes in use; MaxStorage the account's limit, -1 for none.
	Storage    uint64 `json:"storage"`
	MaxStorage int64  `json:"max_storage"`
	// MaxPayload is the largest message that the server accepts, in bytes.
	MaxPayload int64 `json:"max_payload"`
	// Login is true if the server authenticates clients; Signed if this connection counts only signed answers and control events;
	// Demanded if the log says that every process has to do so.
	Login    bool `json:"login"`
	Signed   bool `json:"signed"`
	Demanded bool `json:"demanded"`
}

// Server returns the description of the server. Errors: ErrUnavailable, ErrNotPermitted.
func (s Streams) Server(ctx context.Context) (Server, error) {
	account, err := s.bus.js.AccountInfo(ctx)
	if err != nil {
		return Server{}, fmt.Errorf("read account: %w", class(err))
	}
	demanded, err := s.Demanded(ctx)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Server{}, err
	}
	return Server{
		Version: s.bus.nc.ConnectedServerVersion(), ID: s.bus.nc.ConnectedServerId(), URL: s.bus.nc.ConnectedUrlRedacted(),
		APILevel: account.API.Level, Domain: account.Domain, Storage: account.Store, MaxStorage: account.Limits.MaxStore,
		MaxPayload: s.bus.nc.MaxPayload(), Login: s.bus.nc.AuthRequired(), Signed: s.bus.Signed(), Demanded: demanded,
	}, nil
}

// Subjects returns the subjects of a stream that match a filter, with the number of messages on each. It reads from the
// leader. Errors: ErrNotFound, ErrUnavailable.
func (s Streams) Subjects(ctx context.Context, stream, filter string) (map[string]uint64, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	all := map[string]uint64{}
	for {
		page, total, err := s.subjectPage(ctx, stream, filter, len(all))
		if err != nil {
			return nil, fmt.Errorf("list subjects of %s: %w", stream, err)
		}
		for subject, count := range page {
			all[subject] = count
		}
		if len(page) == 0 || len(all) >= total {
			return all, nil
		}
	}
}

func (s Streams) subjectPage(ctx context.Context, stream, filter string, offset int) (map[string]uint64, int, error) {
	body, err := json.Marshal(map[string]any{"subjects_filter": filter, "offset": offset})
	if err != nil {
		return nil, 0, err
	}
	reply, err := s.bus.nc.RequestWithContext(ctx, apiPrefix+"STREAM.INFO."+stream, body)
	if err != nil {
		return nil, 0, class(err)
	}
	if err := refusalOf(reply.Data); err != nil {
		return nil, 0, err
	}
	var answer struct {
		Total int `json:"total"`
		State struct {
			Subjects map[string]uint64 `json:"subjects"`
		} `json:"state"`
	}
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		return nil, 0, fmt.Errorf("%w: answer is no JSON: %v", ErrUnavailable, err)
	}
	return answer.State.Subjects, answer.Total, nil
}

// nthToken returns a token of a subject by its index, counted from 0, or "".
func nthToken(subject string, n int) string {
	for token := range strings.SplitSeq(subject, ".") {
		if n == 0 {
			return token
		}
		n--
	}
	return ""
}
