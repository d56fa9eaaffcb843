#!/bin/sh
set -eu
{
	echo "# Words"
	cat artifacts/count/counts.txt
	echo
	echo "# Longest words"
	cat artifacts/longest/longest.txt
} >out/report.md
cat out/report.md
