// Package goldentest compares what tests get with golden files. The flag -update of a test that imports it writes the files.
package goldentest
