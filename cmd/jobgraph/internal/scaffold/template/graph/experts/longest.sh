#!/bin/sh
set -eu
find attachments -type f -exec cat {} + | tr -cs '[:alpha:]' '\n' | tr '[:upper:]' '[:lower:]' | sort -u |
	awk '{ print length($0), $0 }' | sort -k1,1nr -k2 | head -n 3 | sed 's/^[0-9]* /- /' >out/longest.txt
cat out/longest.txt
