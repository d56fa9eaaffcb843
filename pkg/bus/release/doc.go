// Package release finds out which capabilities the live services have, whatever their release. A form or rule that the
// previous release does not know is used only while every live instance that has to understand it declares it.
//
// All capabilities are in one table; a new one is a name and a line. An instance declares its levels in the metadata of its
// micro service; one that declares none counts as the previous release. While the levels cannot be read, those that were heard
// last count for a minute; after that, or if none were heard, they count as not declared, since every release understands the old
// form. (The capabilities of a pool's runners are in the cards of its experts.)
//
// A Gate caches what it reads for some seconds and decides nothing about jobs.
package release
