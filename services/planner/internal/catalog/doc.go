// Package catalog keeps the cards of experts at hand: it reads them from their bucket once, follows their changes, and
// reads them again after a reconnect. It decides nothing about experts and never writes a card.
//
// The goroutine in Run owns the cards under construction; readers get slices that do not change any more.
package catalog
