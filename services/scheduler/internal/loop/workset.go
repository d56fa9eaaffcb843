package loop

import "time"

// workSet decides which jobs are processed when: the dirty set in this batch, the retry set later.
type workSet struct {
	*env
	// dirty are the jobs to process before the batch ends.
	dirty []*job
	// retry are the jobs with a save, a retry or deliveries left after a batch.
	retry map[*job]struct{}
	// sweepAt is when retry is checked next. stuck is how many jobs the last sweep left waiting for their retry.
	sweepAt time.Time
	stuck   int
}

// jobRetry says when a job with failed effects is tried again, and how often that has happened.
type jobRetry struct {
	// at is the time of the retry; zero if there is nothing to try again.
	at       time.Time
	failures int
}

func (r *jobRetry) pending() bool { return !r.at.IsZero() }

// clear removes the pending retry.
func (r *jobRetry) clear() { r.at = time.Time{} }

func newWorkSet(e *env) *workSet { return &workSet{env: e, retry: map[*job]struct{}{}} }

// touch adds a job to the dirty set.
func (w *workSet) touch(j *job) {
	j.used = w.now
	if !j.dirty {
		j.dirty = true
		w.dirty = append(w.dirty, j)
	}
}

// later adds a job to the retry set.
func (w *workSet) later(j *job) {
	if len(w.retry) == 0 {
		w.sweepAt = w.now.Add(w.SaveAfter / 4)
	}
	w.retry[j] = struct{}{}
	if j.retry.pending() && !j.inFlight() && !j.loading() && j.retry.at.Before(w.sweepAt) { // Otherwise it is processed when its outstanding results arrive.
		w.sweepAt = j.retry.at
	}
}

// done removes a job from the retry set.
func (w *workSet) done(j *job) { delete(w.retry, j) }

// sweep moves the jobs of the retry set whose time has come to the dirty set.
func (w *workSet) sweep() {
	if w.now.Before(w.sweepAt) {
		return
	}
	w.sweepAt = w.now.Add(w.SaveAfter / 4)
	w.stuck = 0
	for j := range w.retry {
		switch {
		case !j.busy():
			w.done(j)
		case !j.retry.at.After(w.now):
			w.touch(j)
		default:
			w.stuck++
		}
	}
}

// backlog is the number of active jobs, without those that wait for a retry.
func (w *workSet) backlog() int { return max(0, len(w.retry)-w.stuck) }

// endBatch empties the dirty set and calls each for every job that was in it.
func (w *workSet) endBatch(each func(j *job)) {
	for _, j := range w.dirty {
		j.dirty = false
		each(j)
	}
	clear(w.dirty)
	w.dirty = w.dirty[:0]
}

// postpone schedules a retry of a job with failed effects; the delay doubles with each failure.
func (w *workSet) postpone(j *job, err error) {
	wait := min(w.RetryMost, w.RetryFirst<<min(j.retry.failures, 16))
	j.retry.failures++
	j.retry.at = w.now.Add(wait)
	w.Logger.Warn("retrying job", "job", j.id, "in", wait, "error", err)
}

// retryNow lets a job be tried again in the next sweep.
func (w *workSet) retryNow(j *job, err error) {
	w.postpone(j, err)
	j.retry.at = w.now
}
