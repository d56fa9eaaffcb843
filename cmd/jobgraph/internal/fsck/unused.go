package fsck

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// young is how long payloads may be stored without a job before they are a finding: they are stored before the request of their job.
const young = 24 * time.Hour

// Unused counts the payloads that are stored under ids without a job: before their request comes, or because it was never sent, or was
// refused.
type Unused struct {
	// IDs is the number of ids, Payloads that of the payloads under them, and Bytes their size.
	IDs      int   `json:"ids"`
	Payloads int   `json:"payloads"`
	Bytes    int64 `json:"bytes"`
	// Oldest is when the oldest of them was stored.
	Oldest time.Time `json:"oldest"`
}

// unused looks for payloads without a job. Those that have been there for a day are findings.
func (k *checker) unused(ctx context.Context, now time.Time) error {
	stored, err := k.client.Bus().Blobs().IDs(ctx)
	if err != nil {
		return err
	}
	ids, err := k.client.Bus().Retention().Unused(ctx, stored)
	if err != nil || len(ids) == 0 {
		return err
	}
	listed, err := k.listed(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if listed[id] {
			continue
		}
		x, err := k.client.Bus().Blobs().Extent(ctx, id)
		if err != nil {
			return err
		}
		if x.Payloads == 0 {
			continue // It was deleted in the meantime.
		}
		if k.report.Unused == nil {
			k.report.Unused = &Unused{Oldest: x.First}
		}
		u := k.report.Unused
		u.IDs, u.Payloads, u.Bytes = u.IDs+1, u.Payloads+x.Payloads, u.Bytes+x.Bytes
		if x.First.Before(u.Oldest) {
			u.Oldest = x.First
		}
		if now.Sub(x.Last) < young {
			continue
		}
		k.report.Findings = append(k.report.Findings, Finding{Kind: PayloadUnused, Job: id, Fault: events.Fault{
			Code: events.CodeNotFound, Field: id, Message: fmt.Sprintf("there is no such job, and %d payloads of %d bytes in all have been stored under its id since %s", x.Payloads, x.Bytes, stamp(x.First)),
			Hint: "`jobgraph delete " + id + "` removes them; they belong to a request that was never sent, or was refused",
		}})
	}
	slices.SortStableFunc(k.report.Findings, func(a, b Finding) int { return cmp.Compare(a.Job, b.Job) })
	return nil
}

// listed returns the jobs that sessions list.
func (k *checker) listed(ctx context.Context) (map[string]bool, error) {
	records, err := k.client.Bus().SessionRecords(ctx)
	if err != nil {
		return nil, err
	}
	jobs := map[string]bool{}
	for i := range records {
		var record struct {
			Jobs []struct {
				ID string `json:"id"`
			} `json:"jobs"`
		}
		if json.Unmarshal(records[i].Value, &record) != nil {
			continue
		}
		for _, job := range record.Jobs {
			jobs[job.ID] = true
		}
	}
	return jobs, nil
}
