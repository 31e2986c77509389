#!/usr/bin/env bash
# How fast is it on one card, beside CUDASW++4.0, and how long do commands take? See README.md.
: "${BUDGET:=240}" # seconds
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

twenty=(${QUERIES:+--queries "$QUERIES"})
if [ -n "${FASTA-}" ]; then
    database=proteins
    proteins "$work/data/proteins.fasta" "${COPIES:-1}"
    beside 110 proteins --fasta "proteins=$work/data/proteins.fasta" --repeats 2 "${twenty[@]}"
else
    database=families
    beside 110 families --databases families --residues 206000000 --repeats 2 "${twenty[@]}"
fi
step 90 commands 14 "$PYTHON" bench/gpu/commands.py --keep --db "$work/data/$database.swdual" \
    --repeats 2 --only 'one query, GPU' --only 'one query, auto' --only 'scores, GPU' \
    --only 'scores, auto' --only 'alignments, GPU' --only 'alignments, auto' \
    --gantt "$log/plan.svg" "${twenty[@]}"
beside 40 equals --databases equals --copies 400000 --length 512 --repeats 2 "${twenty[@]}"

finish
