#!/usr/bin/env bash
# What is measured if there is time: races, large databases, the disk, the counters. See README.md.
: "${BUDGET:=600}" # seconds
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

for tool in memcheck racecheck synccheck initcheck; do
    step 40 "$tool" 3 compute-sanitizer --tool "$tool" --error-exitcode 9 \
        "$PYTHON" -m swdual search data/queries.fasta data/proteins.fasta --device cuda:0 \
        -f '6 qseqid sseqid score' -o "$work/data/$tool" --force
done
large=(--lengths "144,375,400,1000" --repeats 2)
if [ -n "${FASTA-}" ]; then
    proteins "$work/data/large.fasta" "$((10 * ${COPIES:-1}))"
    beside 140 large --fasta "proteins_x10=$work/data/large.fasta" "${large[@]}"
else
    beside 140 large --databases large --residues 206000000 "${large[@]}"
fi
step 130 streaming 20 "$PYTHON" bench/gpu/streaming.py --keep --residues 300000000 --repeats 3
step 90 counters 12 "$PYTHON" bench/gpu/counters.py --keep
step 80 memory 14 "$PYTHON" bench/gpu/commands.py --keep --residues 206000000 --repeats 1 \
    ${QUERIES:+--queries "$QUERIES"}

finish
