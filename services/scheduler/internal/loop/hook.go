package loop

// Point names a boundary between two effects: the process may crash before or after each.
type Point string

// The boundaries, in the order in which a step passes them.
const (
	AtFetched        Point = "fetched"       // A batch was read; nothing was done yet.
	AtLoad           Point = "load"          // A state is about to be loaded.
	AtStepped        Point = "stepped"       // The events were applied; nothing was published yet.
	AtClaim          Point = "claim"         // The slots of a concurrency key are about to be claimed.
	AtPublish        Point = "publish"       // A message is about to be handed to the connection.
	AtPublished      Point = "published"     // The acks of a batch are here; Sent was not called yet.
	AtCloseJournal   Point = "close.journal" // closed(run) is about to be appended.
	AtClosePurge     Point = "close.purge"   // The journal is closed; the work is about to be purged.
	AtCloseCancel    Point = "close.cancel"  // The worker is about to be notified.
	AtCloseFact      Point = "close.fact"    // subjob.closed is about to be published.
	AtEndPurgeTimers Point = "end.timers"    // The end is published; the timers are about to be purged.
	AtReap           Point = "reap"          // A job is about to be deleted.
	AtAdvanced       Point = "advanced"      // job.advanced is about to be published.
	AtSave           Point = "save"          // A state is about to be written.
	AtSaved          Point = "saved"         // The state is saved; nothing is acknowledged.
	AtAck            Point = "ack"           // Covered deliveries are about to be acknowledged.
	AtAcked          Point = "acked"         // The deliveries are acknowledged.
)

// Points lists every boundary, in the order of a step.
func Points() []Point {
	return []Point{
		AtFetched, AtLoad, AtStepped, AtClaim, AtPublish, AtPublished, AtCloseJournal, AtClosePurge, AtCloseCancel,
		AtCloseFact, AtEndPurgeTimers, AtReap, AtAdvanced, AtSave, AtSaved, AtAck, AtAcked,
	}
}

// Hook is called at every boundary; an error ends the partition there and then, as a crash would. Nil in production. It
// must be safe for concurrent use, since runs are closed concurrently.
type Hook func(Point) error
