#!/bin/sh
# Prints the balance of each account of a book, by name.
awk -f "$(dirname "$0")/cents.awk" -f "$(dirname "$0")/balance.awk" "$@" | sort
