package intake

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/seal"
	"github.com/jobgraph/jobgraph/pkg/verb/asker"
)

// A queued request is made for a user of the key that has signed it; anyone who may queue requests may make one for no user.
func TestAQueuedRequestIsInTheNameOfItsSender(t *testing.T) {
	ann := &seal.Signer{Name: "ann's key", Users: []string{"ann"}}
	fault := &events.Fault{Code: events.CodeNotPermitted, Message: "another has signed"}
	none := fmt.Errorf("%w: %w", seal.ErrNone, fault)
	for _, c := range []struct {
		name       string
		who        *seal.Signer
		asked      bool
		err        error
		user, want string
		refused    bool
	}{
		{"no list of signers", nil, false, nil, "boss", "boss", false},
		{"its own name", ann, true, nil, "ann", "ann", false},
		{"no name", ann, true, nil, "", "ann", false},
		{"the name of another", ann, true, nil, "boss", "boss", true},
		{"a false signature", nil, true, fault, "", "", true},
		{"no signature", nil, true, none, "", "", false},
		{"no signature and a name", nil, true, none, "boss", "boss", true},
	} {
		ctx, err := WithSender(t.Context(), c.who, c.asked, c.err)
		if who := asker.Of(ctx); err == nil && (who == nil) == c.asked {
			t.Errorf("%s: the sender is %+v", c.name, who)
		}
		r := events.Request{User: c.user}
		if err == nil {
			err = named(ctx, &r)
		}
		var faults events.Faults
		if refused := errors.As(err, &faults) && faults[0].Code == events.CodeNotPermitted; refused != c.refused || r.User != c.want || !refused && err != nil {
			t.Errorf("%s: user %q, %v", c.name, r.User, err)
		}
	}
}
