# shellcheck shell=bash
# Sourced by one.sh, two.sh and three.sh: steps with limits, and a log that is written anew after
# each of them.
set -u
name=$(basename "$0" .sh)
: "${OUT:?names the folder of the results: OUT=FOLDER bash $0}"
mkdir -p "$OUT" && OUT=$(cd "$OUT" && pwd)
work=${WORK:-${TMPDIR:-/tmp}/swdual_gpu_day}
log=$work/$name
mkdir -p "$log/results" "$work/data" && work=$(cd "$work" && pwd) && log=$work/$name
for file in FASTA QUERIES CUDASW4; do
    [ -z "${!file-}" ] || export "$file=$(realpath "${!file}")"
done
cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit

PYTHON=${PYTHON:-python3}
BUDGET=${BUDGET:-300} # seconds of the script
MIN_SECONDS=10        # with fewer left, no step begins
export PYTHONPATH=$PWD${PYTHONPATH:+:$PYTHONPATH} PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
# Kernels are compiled once for tests, commands and benchmarks.
export SWDUAL_CACHE_DIR=$work/cache SWDUAL_TEST_CACHE=$work/cache
export SWDUAL_BENCH_RESULTS=$log/results
printf 'step\texit code\tseconds\tlimit\n' > "$log/steps.tsv"
worst=0 # exit code of the script: 4 if a step did not end with 0

# Write the log anew; what is there is whole at any time.
keep() {
    tar czf "$OUT/$name.part" -C "$work" "$name" && mv "$OUT/$name.part" "$OUT/$name.tgz"
}

# step LIMIT NAME LINES COMMAND...: run a command for at most LIMIT seconds (in a dry run, which may
# be on a slow machine, for ten times as long), and at most for what is left of the budget. What it
# prints goes to the log; its last lines are shown.
step() {
    local limit=$1 step=$2 lines=$3 code=0 started=$SECONDS left=$((BUDGET - SECONDS))
    shift 3
    [ -z "${DRY_RUN-}" ] || limit=$((limit * 10))
    if [ "$left" -lt "$MIN_SECONDS" ]; then
        echo "=== $step: left out, $left s are left"
        printf '%s\t%s\t0\t0\n' "$step" 'left out' >> "$log/steps.tsv"
        keep
        worst=4
        return 1
    fi
    [ "$limit" -le "$left" ] || limit=$left
    timeout -k 5 "$limit" "$@" > "$log/$step.txt" 2>&1 < /dev/null || code=$?
    echo "=== $step: $(meaning "$code"), $((SECONDS - started)) of $limit s, $SECONDS s so far"
    tail -n "$lines" "$log/$step.txt" | cut -c 1-220
    printf '%s\t%s\t%s\t%s\n' "$step" "$code" "$((SECONDS - started))" "$limit" >> "$log/steps.tsv"
    keep
    [ "$code" = 0 ] || worst=4
    return "$code"
}

# meaning CODE: what an exit code says.
meaning() {
    case $1 in
    0) echo "done" ;;
    3) echo "no GPU" ;;
    4) echo "done, but something is noted" ;;
    124 | 137) echo "stopped at its limit" ;;
    127) echo "no such program" ;;
    *) echo "failed with exit code $1" ;;
    esac
}

# stop REASON: end the script, unless it is a dry run.
stop() {
    echo "!!! $1"
    [ -n "${DRY_RUN-}" ] || exit 1
}

# finish: end the script.
finish() {
    exit "$worst"
}

# proteins FILE COPIES: write the sequences of FASTA so many times over, each time with other names.
proteins() {
    [ -e "$1" ] && return
    for copy in $(seq "$2"); do gzip -cdf "$FASTA" | sed "s/^>/>c${copy}_/"; done > "$1.part"
    mv "$1.part" "$1"
}

# beside LIMIT NAME ARGUMENTS...: measure databases, beside CUDASW++4.0 if it is there.
beside() {
    step "$1" "$2" 34 "$PYTHON" bench/gpu/cudasw4.py --keep --folder "$work/data" "${@:3}"
}
