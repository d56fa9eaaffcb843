package loop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/jobgraph/jobgraph/pkg/memory"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// memory returns what the expert of a run remembers of its user; nil for an anonymous job.
func (r *run) memory() tool.Memory {
	if r.User == "" || r.loop.Memory == nil {
		return nil
	}
	return remembered{r}
}

// remembered implements tool.Memory for a run.
type remembered struct{ run *run }

// Recall implements tool.Memory.
func (m remembered) Recall(ctx context.Context) ([]memory.Fact, error) {
	return m.run.loop.Memory.Recall(ctx, m.run.User, m.run.Expert)
}

// Remember implements tool.Memory. The fact's id is made from the key, so that a repeat after a crash adds nothing.
func (m remembered) Remember(ctx context.Context, key, text string) (bool, error) {
	sum := sha256.Sum256([]byte(key))
	return m.run.loop.Memory.Remember(ctx, m.run.User, m.run.Expert, memory.Fact{
		ID: hex.EncodeToString(sum[:6]), Text: m.run.loop.Secrets.Redactor().Text(text), At: time.Now().UTC(), Job: m.run.Job,
	})
}
