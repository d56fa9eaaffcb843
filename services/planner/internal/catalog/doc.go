// Package catalog caches the cards of experts: it reads them from their bucket, follows changes, and reads them again after
// a reconnect. It decides nothing about experts and never writes a card.
//
// The goroutine in Run owns the cards under construction; readers get slices that never change.
package catalog
