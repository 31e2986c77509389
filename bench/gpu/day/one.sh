#!/usr/bin/env bash
# Does it work, and how fast are the kernels? See README.md.
: "${BUDGET:=300}" # seconds
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

step 10 gpu 3 nvidia-smi --format=csv,noheader \
    --query-gpu=name,driver_version,clocks.max.sm,clocks.max.mem,power.limit
step 20 info 20 "$PYTHON" -m swdual info --system || stop "swdual does not start"

step 100 tests 12 "$PYTHON" -m pytest -n0 -q -x -m gpu tests/backends/cuda/test_gpu.py \
    --durations=5 -p no:cacheprovider -o filterwarnings=default
code=$?
if [ $code != 0 ] || ! grep -q ' passed' "$log/tests.txt" || grep -q ' skipped' "$log/tests.txt"; then
    stop "not all tests passed"
fi

"$PYTHON" - > "$work/data/nucleotides.fasta" << 'END'
import random
random.seed(1)
for number in range(500):
    print(f">n{number}", "".join(random.choices("ACGT", k=random.randint(100, 2000))), sep="\n")
END
head -n 16 "$work/data/nucleotides.fasta" > "$work/data/genes.fasta"

# same NAME QUERIES TARGETS: do GPU and CPUs write the same bytes?
same() {
    local device
    for device in cpu cuda:0; do
        step 20 "$1_$device" 1 "$PYTHON" -m swdual search "$2" "$3" --device "$device" -f 6 \
            -o "$work/data/$1.$device" --force || {
            stop "the search fails"
            return
        }
    done
    cmp "$work/data/$1.cpu" "$work/data/$1.cuda:0" || stop "GPU and CPUs write different bytes"
}
same proteins data/queries.fasta data/proteins.fasta
same nucleotides "$work/data/genes.fasta" "$work/data/nucleotides.fasta"

step 60 kernels 70 "$PYTHON" bench/gpu/kernels.py --keep --residues 60000000 --repeats 2 \
    --cutoff 75 --kernels q2_s16,s2_s16,bound_s16 --most 3 --lengths 144,375,400,448,567,1000,2005
step 30 instructions 70 "$PYTHON" bench/gpu/instructions.py --keep

finish
