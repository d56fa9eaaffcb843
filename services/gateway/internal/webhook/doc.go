// Package webhook tells targets outside when jobs end and when they ask for input: it reads those events on behalf of each target, signs a
// notice in the form of Standard Webhooks, sends it behind the guard of package egress, tries again at growing intervals, and sets a notice
// aside that is never taken.
//
// It decides nothing about jobs and stores nothing but what package bus keeps: the position of each target, which all gateways share, and
// dead letters. A notice may come twice after a crash, always with the same id.
package webhook
