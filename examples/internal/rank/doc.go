// Package rank measures a graph of entities: which are the important ones (PageRank over the weighted relations), how
// they are connected (degrees, components), and where prose speaks of code. It is a pure function of its input.
package rank
