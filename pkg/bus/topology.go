package bus

import (
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
)

const (
	// topologyMark is the metadata key that marks a stream or consumer as ours; topologyForm is the version of this table.
	topologyMark = "io.jobgraph.topology"
	topologyForm = "1"
	// apiLevel is the JetStream API level that a server must have, that of nats-server 2.15.
	apiLevel = 5
	// DedupeWindow is how long a stream remembers message ids.
	DedupeWindow = 2 * time.Minute
	// intakeLimit is how many requests may wait for admission.
	intakeLimit = 100_000
	// deadLimit is how many dead letters are kept, deadAge for how long.
	deadLimit = 1_000
	deadAge   = 30 * 24 * time.Hour
	// liveAge, liveBytes and livePerSubJob limit the live items that are kept: their age, the bytes of all of them, and the
	// messages of one SubJob.
	liveAge       = time.Hour
	liveBytes     = 256 << 20
	livePerSubJob = 20_000
	// markerTTL is how long watchers can see the deletion of a key.
	markerTTL = time.Hour
	// cardMarkerTTL is the same for cards of experts, which change often.
	cardMarkerTTL = time.Minute
)

func ours() map[string]string { return map[string]string{topologyMark: topologyForm} }

// streams returns the table of streams, key-value buckets and object stores. Limits of size and age are up to the
// operator, unless they are part of a promise.
func streams(n events.Names) []jetstream.StreamConfig {
	log := jetstream.StreamConfig{
		Name: n.Log, Description: "the log: every fact of every job", Subjects: []string{n.AllEvents()},
		DenyDelete: true, Discard: jetstream.DiscardNew,
		Sources: []*jetstream.StreamSource{{Name: n.Timers, SubjectTransforms: []jetstream.SubjectTransformConfig{
			{Source: n.Prefix() + ".due.*.*.*", Destination: n.Prefix() + ".event.{{wildcard(1)}}.{{wildcard(2)}}.timer.fired.{{wildcard(3)}}"},
		}}},
	}
	intake := jetstream.StreamConfig{
		Name: n.Intake, Description: "job requests that wait for admission", Subjects: []string{n.Request()},
		Retention: jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew, MaxMsgs: intakeLimit,
	}
	work := jetstream.StreamConfig{
		Name: n.Work, Description: "work that waits for a runner", Subjects: []string{n.AllWork()},
		Retention: jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew,
	}
	journal := jetstream.StreamConfig{
		Name: n.Journal, Description: "claims, intents and results of runs", Subjects: []string{n.AllJournals()},
		Discard: jetstream.DiscardNew,
	}
	timers := jetstream.StreamConfig{
		Name: n.Timers, Description: "armed and due timers", Subjects: []string{n.AllTimers(), n.AllDue()},
		AllowMsgSchedules: true, AllowMsgTTL: true, AllowRollup: true, Discard: jetstream.DiscardOld,
	}
	aside := jetstream.StreamConfig{
		Name: n.Aside, Description: "messages that could not be handled, for people", Subjects: []string{n.AllAside()},
		Discard: jetstream.DiscardOld, MaxMsgs: deadLimit, MaxAge: deadAge,
	}
	of := item.LiveSubjects(n)
	live := jetstream.StreamConfig{
		Name: of.Stream(), Description: "live items of runs, for watchers; nothing depends on them", Subjects: []string{of.All()},
		Discard: jetstream.DiscardOld, MaxAge: liveAge, MaxBytes: liveBytes, MaxMsgsPerSubject: livePerSubJob,
	}
	table := []jetstream.StreamConfig{
		timers, log, intake, work, journal, aside, schedules(n), conversations(n), live,
		objects(n.Blobs, "payloads by reference"),
	}
	table = append(table, buckets(n)...)
	for i := range table {
		c := &table[i]
		c.Storage, c.AllowDirect, c.Metadata = jetstream.FileStorage, true, ours()
		if c.Duplicates == 0 {
			c.Duplicates = DedupeWindow
		}
		if c.MaxMsgs == 0 {
			c.MaxMsgs = -1
		}
		c.MaxMsgSize, c.MaxConsumers = -1, -1
		if c.MaxBytes == 0 {
			c.MaxBytes = -1
		}
		if c.MaxMsgsPerSubject == 0 {
			c.MaxMsgsPerSubject = -1
		}
	}
	return table
}

// optional reports whether everything else works without a stream, as on the bus of an earlier release.
func optional(n events.Names, stream string) bool {
	return stream == item.LiveSubjects(n).Stream() || stream == item.Stream(n)
}

// buckets returns the streams of the key-value buckets.
func buckets(n events.Names) []jetstream.StreamConfig {
	return []jetstream.StreamConfig{
		bucket(n.State, "saved states of jobs", markerTTL),
		bucket(n.Experts, "cards of experts", cardMarkerTTL),
		bucket(n.Sessions, "conversations", markerTTL),
		bucket(n.Plans, "plans that are kept", markerTTL),
		bucket(n.Memory, "what experts remember of users", markerTTL),
	}
}

// bucket returns the stream of a key-value bucket in the format of all NATS clients.
func bucket(name, description string, marker time.Duration) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: "KV_" + name, Description: description, Subjects: []string{"$KV." + name + ".>"}, MaxMsgsPerSubject: 1,
		Discard: jetstream.DiscardNew, AllowRollup: true, DenyDelete: true, AllowMsgTTL: true, SubjectDeleteMarkerTTL: marker,
	}
}

// objects returns the stream of an object store in the format of all NATS clients.
func objects(name, description string) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: "OBJ_" + name, Description: description, Subjects: []string{"$O." + name + ".C.>", "$O." + name + ".M.>"},
		Discard: jetstream.DiscardNew, AllowRollup: true, // Allowed until signatures count, see Demand.
	}
}

// consumers returns the table of durables that Init creates: filters on a work queue may not overlap, and services may lack
// the permission to create consumers.
func (q *Queues) consumers() []ConsumerSpec {
	return []ConsumerSpec{q.IntakeConsumer(), q.PoolConsumer(events.PlannerPool), q.PoolConsumer(events.DefaultPool), q.EndsConsumer(), q.ForeignConsumer(schedule.Pool)}
}
