#!/usr/bin/env bash
# How fast is it on one card, beside CUDASW++4.0? See README.md.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# beside LIMIT NAME ARGUMENTS...: measure databases.
beside() {
    step "$1" "$2" 34 "$PYTHON" bench/gpu/cudasw4.py --keep --folder "$work/data" "${@:3}"
}
twenty=(${QUERIES:+--queries "$QUERIES"})

if [ -n "${FASTA-}" ]; then
    proteins "$work/data/proteins.fasta" "${COPIES:-1}"
    beside 200 proteins --fasta "proteins=$work/data/proteins.fasta" --repeats 3 "${twenty[@]}"
else
    beside 200 families --databases families --residues 206000000 --repeats 3 "${twenty[@]}"
fi
beside 150 equals --databases equals --copies 400000 --length 512 --repeats 2 "${twenty[@]}"
large=(--lengths "144,375,400,1000" --repeats 3)
if [ -n "${FASTA-}" ]; then
    proteins "$work/data/large.fasta" "$((10 * ${COPIES:-1}))"
    beside 220 large --fasta "proteins_x10=$work/data/large.fasta" "${large[@]}"
else
    beside 220 large --databases large --residues 206000000 "${large[@]}"
fi

finish
