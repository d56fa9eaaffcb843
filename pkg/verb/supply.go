package verb

import (
	"net/http"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// BudgetQuery selects budgets. ID is a job, whose own budget and that of its session are added; Session is a session.
type BudgetQuery struct {
	ID      string `json:"id,omitempty"`
	Session string `json:"session,omitempty"`
}

// BudgetList lists budgets: of the day, of a session, of a job. A budget that is not set is absent, and its spending is not
// counted.
type BudgetList struct {
	Budgets []BudgetLine `json:"budgets"`
}

// BudgetLine is one budget. Scope is day, session, job, or "each job" for the budget of jobs whose request sets no limits; ID is
// the job or session. Spent is what was spent of Limit, and Left is what remains. Renews is when the budget of a day is full again.
type BudgetLine struct {
	Scope  string       `json:"scope"`
	ID     string       `json:"id,omitempty"`
	Limit  events.Spent `json:"limit,omitzero"`
	Spent  events.Spent `json:"spent,omitzero"`
	Left   events.Spent `json:"left,omitzero"`
	Renews time.Time    `json:"renews,omitzero"`
}

// PoolList lists the pools of work. Admission says why no job is admitted at the moment; nil if jobs are.
type PoolList struct {
	Pools     []PoolLine    `json:"pools"`
	Admission *events.Fault `json:"admission,omitempty"`
}

// PoolLine is a pool. Waiting is the work that no worker has taken yet, InHand what workers have taken, Again how much of that was
// delivered more than once. Readers counts the open requests for work: if Readers and InHand are both 0, there is no worker. Limit
// is how many runs may execute at once, if that is bounded. Batches is true for the pool's queue of batches.
type PoolLine struct {
	Pool    string   `json:"pool"`
	Batches bool     `json:"batches,omitempty"`
	Waiting uint64   `json:"waiting"`
	InHand  int      `json:"in_hand"`
	Again   int      `json:"again,omitempty"`
	Readers int      `json:"readers"`
	Limit   int      `json:"limit,omitempty"`
	Experts []string `json:"experts,omitempty"`
}

// ConfiguredModels lists the models of the planner that answers.
type ConfiguredModels struct {
	Models []ConfiguredModel `json:"models"`
}

// ConfiguredModel is a model of the configuration. Model is its name at the provider, Host the provider's address; Default is true
// for the model that plans if a request names none, and Fallback are tried after it. Prices are in US dollars per million tokens.
type ConfiguredModel struct {
	Name     string       `json:"name"`
	Model    string       `json:"model"`
	Host     string       `json:"host,omitempty"`
	Default  bool         `json:"default,omitempty"`
	Fallback []string     `json:"fallback,omitempty"`
	Price    *ModelPrice  `json:"price,omitempty"`
	Limits   *ModelLimits `json:"limits,omitempty"`
	Room     *ModelRoom   `json:"room,omitempty"`
}

// ModelPrice is the price of a million tokens, in US dollars.
type ModelPrice struct {
	Prompt     float64  `json:"prompt"`
	Cached     *float64 `json:"cached,omitempty"`
	CacheWrite *float64 `json:"cache_write,omitempty"`
	Completion float64  `json:"completion"`
}

// ModelLimits are the configured limits, which each process applies separately.
type ModelLimits struct {
	// Concurrency limits the open requests, RequestsPerMinute and TokensPerMinute those of a minute.
	Concurrency       int `json:"concurrency,omitempty"`
	RequestsPerMinute int `json:"requests_per_minute,omitempty"`
	TokensPerMinute   int `json:"tokens_per_minute,omitempty"`
}

// ModelRoom is what the process may ask at this moment: how many requests at once, and what remains of the minute; a field without
// a limit is absent. Closed is until when the provider has asked to wait.
type ModelRoom struct {
	Slots    *int      `json:"slots,omitempty"`
	Requests *int      `json:"requests,omitempty"`
	Tokens   *int      `json:"tokens,omitempty"`
	Closed   time.Time `json:"closed,omitzero"`
}

// supply returns the verbs about what work depends on.
func supply() []Verb {
	read := func(name, about, on string, input, output any) Verb {
		return Verb{Name: name, About: about, Roles: readers, Effect: Read, Input: input, Output: output, On: on, Method: http.MethodGet, Path: "/api/v1/" + name}
	}
	budgets := read("budgets", "Shows budgets: limits, what is spent, what is left, when they renew.", scheduler, BudgetQuery{}, BudgetList{})
	budgets.Faults = missing
	runs := read("runs", "Lists the runs that runners have in hand.", runner, RunQuery{}, RunList{})
	runners := read("runners", "Lists the runners with their pools and experts, and the tools that an agent lacks there.", runner, nil, RunnerList{})
	runs.Each, runners.Each = true, true
	return []Verb{
		budgets,
		read("pools", "Lists pools of work with what waits, what is in hand, and their experts.", scheduler, nil, PoolList{}),
		read("models", "Lists the configured models of a planner with prices, limits and the room that is left.", planner, nil, ConfiguredModels{}),
		runs, runners,
	}
}
