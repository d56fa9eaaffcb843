#!/bin/sh
# Prints the texts of the folder that the card names, relative to the card, each under its name.
set -eu
cd "$(dirname "$0")/$1"
for file in *.txt; do
	echo "## ${file%.txt}"
	cat "$file"
done
