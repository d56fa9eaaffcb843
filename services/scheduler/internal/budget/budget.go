package budget

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// Keys is the key-value bucket that holds the accounts.
type Keys interface {
	// GetLeader reads a key's value and revision from the leader. With bus.ErrNotFound the revision is that of the key's deletion
	// marker, 0 if there is none.
	GetLeader(ctx context.Context, key string) (value []byte, revision uint64, err error)
	// Update writes a key whose latest revision is the given one; otherwise it returns bus.ErrConflict.
	Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	// Delete removes a key; a missing one is not an error.
	Delete(ctx context.Context, key string) error
}

// Budgets are what may be spent; zero means that there is no such budget.
type Budgets struct {
	// Session is for all jobs of one session together, Day for all jobs from 00:00 to 24:00 UTC.
	Session, Day events.Spent
}

// shares is the number of accounts of a day, so that writers of different jobs rarely conflict.
const shares = 8

// keptDays is how long the accounts of a day are kept.
const keptDays = 8

// believed is how long the sum of a day that was read serves further admissions before it is read again.
const believed = time.Second

// Ledger stores the accounts. It is safe for concurrent use.
type Ledger struct {
	keys    Keys
	budgets Budgets
	now     func() time.Time
	// lines make writers of one account in this process wait for each other, so that they do not conflict; those of other processes
	// conflict on the revision.
	lines [32]sync.Mutex

	mu   sync.Mutex // Guards the fields below; held during a reading, so that concurrent callers share it.
	day  string
	sum  events.Spent
	read time.Time
}

// New makes a ledger over a bucket; now is the clock.
func New(keys Keys, budgets Budgets, now func() time.Time) *Ledger {
	return &Ledger{keys: keys, budgets: budgets, now: now}
}

// Note enters what a job has spent in total: before is the amount in its last saved state, spent the amount in the next one. It may
// be called again with the same values.
func (l *Ledger) Note(ctx context.Context, job, session string, before, spent events.Spent) error {
	if spent == before {
		return nil
	}
	if session != "" && l.budgets.Session != (events.Spent{}) {
		if err := l.enter(ctx, sessionKey(session), job, events.Spent{}, spent); err != nil {
			return fmt.Errorf("account of session %.80s: %w", session, err)
		}
	}
	if l.budgets.Day == (events.Spent{}) {
		return nil
	}
	share, today := shareOf(job), l.now().UTC()
	if err := l.enter(ctx, dayKey(today, share), job, before, spent); err != nil {
		return fmt.Errorf("account of the day: %w", err)
	}
	return nil
}

// enter updates the entry of a job in one account, and tries again until no other writer interferes.
func (l *Ledger) enter(ctx context.Context, key, job string, before, spent events.Spent) error {
	line := &l.lines[hashed(key)%uint32(len(l.lines))]
	line.Lock()
	defer line.Unlock()
	for {
		value, revision, err := l.keys.GetLeader(ctx, key)
		if err != nil && !errors.Is(err, bus.ErrNotFound) {
			return err
		}
		if revision == 0 {
			if err := l.forgetOld(ctx, key); err != nil {
				return err
			}
		}
		a := read(value)
		if !a.note(job, before, spent) {
			return nil
		}
		if value, err = json.Marshal(a); err != nil {
			return err
		}
		if _, err = l.keys.Update(ctx, key, value, revision); err == nil || !errors.Is(err, bus.ErrConflict) || ctx.Err() != nil {
			return err
		}
	}
}

// forgetOld is called when a share of a day's account is about to be created: it deletes the same share of the day keptDays before.
func (l *Ledger) forgetOld(ctx context.Context, key string) error {
	today := l.now().UTC()
	for share := range shares {
		if key == dayKey(today, share) {
			return l.keys.Delete(ctx, dayKey(today.AddDate(0, 0, -keptDays), share))
		}
	}
	return nil
}

// Left returns what a new job of a session may spend at most, zero if there is no limit. Errors: events.Faults if a budget is used
// up, and the bus's.
func (l *Ledger) Left(ctx context.Context, session string) (left events.Spent, err error) {
	var faults events.Faults
	if session != "" && l.budgets.Session != (events.Spent{}) {
		value, _, err := l.keys.GetLeader(ctx, sessionKey(session))
		if err != nil && !errors.Is(err, bus.ErrNotFound) {
			return left, fmt.Errorf("account of session %.80s: %w", session, err)
		}
		left, faults = spare(left, l.budgets.Session, read(value).sum(), "session", fmt.Sprintf("session %.80q has", session), "begin another session, or raise budgets.session")
	}
	if l.budgets.Day != (events.Spent{}) {
		sum, err := l.today(ctx, believed)
		if err != nil {
			return left, fmt.Errorf("account of the day: %w", err)
		}
		var more events.Faults
		left, more = spare(left, l.budgets.Day, sum, "", "all jobs of this day have", "submit it again after 00:00 UTC, or raise budgets.day")
		faults = append(faults, more...)
	}
	return left, faults.OrNil()
}

// Lines shows the budgets of the day and of a session, as far as such budgets are configured. Errors: the bus's.
func (l *Ledger) Lines(ctx context.Context, session string) ([]verb.BudgetLine, error) {
	var lines []verb.BudgetLine
	if session != "" && l.budgets.Session != (events.Spent{}) {
		value, _, err := l.keys.GetLeader(ctx, sessionKey(session))
		if err != nil && !errors.Is(err, bus.ErrNotFound) {
			return nil, fmt.Errorf("account of session %.80s: %w", session, err)
		}
		lines = append(lines, Line("session", session, l.budgets.Session, read(value).sum()))
	}
	if l.budgets.Day != (events.Spent{}) {
		sum, err := l.today(ctx, 0)
		if err != nil {
			return nil, fmt.Errorf("account of the day: %w", err)
		}
		day := Line("day", "", l.budgets.Day, sum)
		day.Renews = l.now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
		lines = append(lines, day)
	}
	return lines, nil
}

// Line shows what is spent of a budget; a zero limit means no limit.
func Line(scope, id string, limit, spent events.Spent) verb.BudgetLine {
	line := verb.BudgetLine{Scope: scope, ID: id, Limit: limit, Spent: spent}
	if limit.Tokens > 0 {
		line.Left.Tokens = max(0, limit.Tokens-spent.Tokens)
	}
	if limit.CostUSD > 0 {
		line.Left.CostUSD = max(0, limit.CostUSD-spent.CostUSD)
	}
	return line
}

// today returns what the jobs of this day have spent. The result may be as old as ago.
func (l *Ledger) today(ctx context.Context, ago time.Duration) (events.Spent, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now().UTC()
	day := now.Format(time.DateOnly)
	if day == l.day && now.Sub(l.read) < ago {
		return l.sum, nil
	}
	var sum events.Spent
	for share := range shares {
		value, _, err := l.keys.GetLeader(ctx, dayKey(now, share))
		if err != nil && !errors.Is(err, bus.ErrNotFound) {
			return sum, err
		}
		sum = graph.AddSpent(sum, read(value).sum())
	}
	l.day, l.sum, l.read = day, sum, now
	return sum, nil
}

// spare lowers left to what remains of one more budget, and returns faults if nothing remains of it.
func spare(left, budget, spent events.Spent, field, who, hint string) (events.Spent, events.Faults) {
	var faults events.Faults
	fault := func(format string, args ...any) {
		faults = append(faults, events.Fault{Code: events.CodeBudget, Field: field, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
	if budget.Tokens > 0 {
		rest := budget.Tokens - spent.Tokens
		if rest <= 0 {
			fault("%s spent %d of %d tokens", who, spent.Tokens, budget.Tokens)
		}
		if left.Tokens == 0 || rest < left.Tokens {
			left.Tokens = rest
		}
	}
	if budget.CostUSD > 0 {
		rest := budget.CostUSD - spent.CostUSD
		if rest <= 0 {
			fault("%s spent %.4f of %.4f USD", who, spent.CostUSD, budget.CostUSD)
		}
		if left.CostUSD == 0 || rest < left.CostUSD {
			left.CostUSD = rest
		}
	}
	return left, faults
}

// Keys of accounts have dots, which no key of a session has.
func sessionKey(session string) string { return "spent.session." + bus.SessionKey(session) }

func dayKey(day time.Time, share int) string {
	return "spent.day." + day.Format(time.DateOnly) + "." + strconv.Itoa(share)
}

func shareOf(job string) int { return int(hashed(job) % shares) }

func hashed(text string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(text))
	return h.Sum32()
}
