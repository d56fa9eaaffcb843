// Package webhook sends notices to external targets when jobs end or ask for input: it reads those events on behalf of each target,
// signs a notice in the form of Standard Webhooks, sends it behind the guard of package egress, tries again at growing intervals,
// and finally stores a notice that was never accepted as a dead letter.
//
// It decides nothing about jobs. Its state is kept by package bus: the position of each target, which all gateways share, and dead
// letters. A notice may be sent twice after a crash, always with the same id.
package webhook
