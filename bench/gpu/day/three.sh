#!/usr/bin/env bash
# What does a user wait for, and what do the counters say? See README.md.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

step 270 commands 14 "$PYTHON" bench/gpu/commands.py --keep --residues 206000000 --repeats 2 \
    ${QUERIES:+--queries "$QUERIES"}
step 180 streaming 20 "$PYTHON" bench/gpu/streaming.py --keep --residues 300000000 --repeats 3
step 150 counters 12 "$PYTHON" bench/gpu/counters.py --keep

finish
