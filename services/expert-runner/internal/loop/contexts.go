package loop

import "context"

// contexts stores the id by which the remote agent of a run knows its session.
type contexts struct{ run *run }

// Context implements expert.Contexts.
func (c contexts) Context(ctx context.Context) (string, error) {
	return c.run.loop.Contexts.RemoteContext(ctx, c.run.Session, c.run.expert.Card.ID)
}

// SetContext implements expert.Contexts.
func (c contexts) SetContext(ctx context.Context, id string) error {
	return c.run.loop.Contexts.SetRemoteContext(ctx, c.run.Session, c.run.expert.Card.ID, id)
}
