package events

import (
	"reflect"
	"strings"
	"testing"
	"testing/quick"
)

func TestEverySubjectIsReadAsItWasBuilt(t *testing.T) {
	for _, prefix := range []string{"", "other"} {
		n := NewNames(prefix)
		check := func(job, subjob, key string, run uint8) bool {
			job, subjob, key = EscapeID(job), EscapeID(subjob)+"~2~b", EscapeID(key)
			for _, d := range Definitions() {
				subject, want := n.Event(job, d.Kind, key), Address{Job: job, Kind: d.Kind, ID: key}
				switch {
				case d.Run:
					subject, want = n.RunEvent(job, d.Kind, subjob, int(run)+1), Address{Job: job, Kind: d.Kind, SubJob: subjob, Run: int(run) + 1}
					of := want
					of.Pool = "p"
					if got, ok := n.Parse(n.RunEventOf(job, d.Kind, subjob, int(run)+1, "p")); !ok || !reflect.DeepEqual(got, of) || n.RunEventOf(job, d.Kind, subjob, int(run)+1, "") != subject {
						t.Logf("with a pool %s is read as %+v", subject, got)
						return false
					}
				case d.Control:
					want = Address{Job: job, Control: true}
				}
				if got, ok := n.Parse(subject); !ok || !reflect.DeepEqual(got, want) {
					t.Logf("%s is read as %+v", subject, got)
					return false
				}
				if !strings.HasPrefix(subject, strings.TrimSuffix(n.JobEvents(job), ">")) || !strings.HasPrefix(subject, strings.TrimSuffix(n.ShardEvents(ShardOf(job)), ">")) {
					return false
				}
			}
			return true
		}
		if err := quick.Check(check, &quick.Config{MaxCount: 50}); err != nil {
			t.Error(err)
		}
	}
}

func TestTheShardOfAJobIsFixedForEver(t *testing.T) {
	for job, want := range map[string]int{"j1": 36, "j": 61, "": 5, "job-2026": 53, "A": 12} {
		if got := ShardOf(job); got != want {
			t.Errorf("%q is in shard %d, was in %d", job, got, want)
		}
	}
}

func TestNamesAreThoseOfTheInterface(t *testing.T) {
	n := NewNames("")
	for got, want := range map[string]string{
		n.Request(): "jobs.request", n.API("submit"): "jobs.api.submit", n.Control("j1"): "jobs.event.36.j1.control",
		n.WorkFor("default", "x", "j1", "a", 2): "jobs.work.default.x.j1.a.2", n.PoolWork("p"): "jobs.work.p.>", n.JobWork("j1"): "jobs.work.*.*.j1.>",
		n.JournalOf("j1", "a"): "jobs.journal.j1.a", n.JobJournal("j1"): "jobs.journal.j1.>", n.Timer("j1", "t"): "jobs.timer.36.j1.t",
		n.Due("j1", "t"): "jobs.due.36.j1.t", n.JobTimers("j1"): "jobs.timer.36.j1.>", n.Cancel("j1", ""): "jobs.cancel.j1", n.Cancel("j1", "a"): "jobs.cancel.j1.a",
		n.JournalIn("j1", "a", "p"): "jobs.journal.j1.a.p", n.Live("j1", "a"): "jobs.live.j1.a", n.Rejected(): "jobs.rejected", n.AllEvents(): "jobs.event.>", n.AllWork(): "jobs.work.>", n.AllJournals(): "jobs.journal.>",
		n.AllTimers(): "jobs.timer.>", n.AllDue(): "jobs.due.>", n.Prefix(): "jobs", n.SetAside("work", 7): "jobs.dlq.work.7", n.AllAside(): "jobs.dlq.>",
		strings.Join([]string{n.Log, n.Intake, n.Work, n.Journal, n.Timers, n.Aside, n.State, n.Experts, n.Sessions, n.Plans, n.Memory, n.Blobs}, " "): "JOBS JOBS_INTAKE JOBS_WORK JOBS_JOURNAL JOBS_TIMERS JOBS_DLQ JOBS_STATE JOBS_EXPERTS JOBS_SESSIONS JOBS_PLANS JOBS_MEMORY JOBS_BLOBS",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestASubjectOfAJournalIsReadAsItWasBuilt(t *testing.T) {
	n := NewNames("")
	for _, pool := range []string{"", "p", "gpu-1"} {
		if job, subjob, got, ok := n.ParseJournal(n.JournalIn("j", "~plan~1~x", pool)); !ok || job != "j" || subjob != "~plan~1~x" || got != pool {
			t.Errorf("%q is read as %s, %s, %q, %t", pool, job, subjob, got, ok)
		}
	}
	for _, subject := range []string{"", "jobs.journal.j", "jobs.journal.j.", "jobs.journal.j.a.", "jobs.journal.j.a.p.x", "jobs.journal.j.*.p", "jobs.work.j.a", "other.journal.j.a"} {
		if _, _, _, ok := n.ParseJournal(subject); ok {
			t.Errorf("%q is read", subject)
		}
	}
}
