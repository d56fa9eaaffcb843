#!/usr/bin/env bash
# Tests all modules with the race detector, except where it has nothing to find: a test in which neither the package, nor its tests, nor
# any package that is linked with them starts a goroutine, serves HTTP or starts a program has one goroutine, so no two can race. The list
# is made from the sources. What is left out has run without the detector, which changes nothing but the time it takes.
set -euo pipefail
cd "$(dirname "$0")/.."

# Starts a goroutine, or has the standard library start one.
concurrent='^[^/"`]*\bgo +[A-Za-z_(]|\.Go\(|AfterFunc\(|\.Parallel\(|^[^/]*"(net/http|net/http/httptest|os/exec|os/signal)"'
# Start goroutines to find races in functions that they are given, or to enter a bubble of virtual time.
harmless='^(github.com/google/go-cmp/|pgregory.net/rapid )'
