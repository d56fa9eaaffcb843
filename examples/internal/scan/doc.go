// Package scan makes the inventory of a folder: what is in it, which files matter for an extraction, and which kinds
// of entities and relations can be expected in them.
//
// It reads through an fs.FS, follows no symbolic link, opens regular files only, reads a bounded part of each, and
// names everything it leaves out together with the reason. The same tree gives the same inventory.
package scan
