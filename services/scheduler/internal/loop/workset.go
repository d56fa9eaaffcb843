package loop

import "time"

// workSet owns which jobs are looked at when: the dirty set in this batch, the retry set later.
type workSet struct {
	*env
	// dirty are the jobs to look at before the batch ends.
	dirty []*job
	// retry are those with a save, a retry or deliveries left when a batch has ended.
	retry map[*job]struct{}
	// sweepAt is when retry is looked through next. stuck is how many the last sweep left alone, until their retry.
	sweepAt time.Time
	stuck   int
}

// jobRetry is when and how often a job whose effects could not be had is tried again.
type jobRetry struct {
	// at is when; zero when there is nothing to try again.
	at       time.Time
	failures int
}

func (r *jobRetry) pending() bool { return !r.at.IsZero() }

// clear says that nothing is to be tried again.
func (r *jobRetry) clear() { r.at = time.Time{} }

func newWorkSet(e *env) *workSet { return &workSet{env: e, retry: map[*job]struct{}{}} }

// touch puts a job into the dirty set.
func (w *workSet) touch(j *job) {
	j.used = w.now
	if !j.dirty {
		j.dirty = true
		w.dirty = append(w.dirty, j)
	}
}

// later puts a job into the retry set.
func (w *workSet) later(j *job) {
	if len(w.retry) == 0 {
		w.sweepAt = w.now.Add(w.SaveAfter / 4)
	}
	w.retry[j] = struct{}{}
	if j.retry.pending() && !j.inFlight() && !j.loading() && j.retry.at.Before(w.sweepAt) { // Otherwise it is looked at when what is under way is here.
		w.sweepAt = j.retry.at
	}
}

// done takes a job out of the retry set.
func (w *workSet) done(j *job) { delete(w.retry, j) }

// sweep touches the jobs of the retry set whose time has come.
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

// backlog is how many jobs are in motion, apart from those that wait for a retry.
func (w *workSet) backlog() int { return max(0, len(w.retry)-w.stuck) }

// endBatch empties the dirty set; each is called with every job that was in it.
func (w *workSet) endBatch(each func(j *job)) {
	for _, j := range w.dirty {
		j.dirty = false
		each(j)
	}
	clear(w.dirty)
	w.dirty = w.dirty[:0]
}

// postpone has a job whose effects could not be had tried again after a while, which doubles with each failure.
func (w *workSet) postpone(j *job, err error) {
	wait := min(w.RetryMost, w.RetryFirst<<min(j.retry.failures, 16))
	j.retry.failures++
	j.retry.at = w.now.Add(wait)
	w.Logger.Warn("job is tried again", "job", j.id, "in", wait, "error", err)
}

// retryNow has a job tried again with the next sweep.
func (w *workSet) retryNow(j *job, err error) {
	w.postpone(j, err)
	j.retry.at = w.now
}
