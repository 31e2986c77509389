#!/usr/bin/env bash
# Run quick tests as 64-bit ARM runs them, in emulation, and count them. Speed means nothing there.
#
#     bench/systems/arm64.sh FOLDER [TESTS ...]
#
# Needs Debian or Ubuntu on x86-64, root, uv, and 3 GB. FOLDER receives Debian for ARM (SUITE=trixie
# names the release), wheels, compiled kernels, and the log of each of TESTS. A second run tests what
# is committed then, with what is there.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(realpath -m "$1")
shift
if [ $# = 0 ]; then
    set -- tests/{lanes,backends,alignment,masking,composition,profiles,statistics} \
        tests/test_{golden,translated,frameshift}.py \
        tests/{master,database,hits,formats,multiple_alignment,clustering,runtime,sequences}
fi

# Mounts last as long as the command.
arm() {
    # shellcheck disable=SC2016
    unshare --mount bash -c 'for each in dev proc sys; do mount --rbind "/$each" "$0/$each"; done
        exec chroot "$0" "$@"' "$folder/root" "$@"
}

mkdir -p "$folder"
if [ ! -e "$folder/root" ]; then
    apt-get install -qq -y mmdebstrap qemu-user-static binfmt-support > /dev/null
    mmdebstrap --quiet --arch=arm64 --variant=minbase --include=python3 \
        "${SUITE:-trixie}" "$folder/root"
fi
if [ ! -e "$folder/root/site-packages" ]; then
    version=$(arm python3 -c 'import platform; print(platform.python_version())')
    uv pip install --quiet --python-platform aarch64-manylinux_2_28 --python-version "$version" \
        --target "$folder/root/site-packages" '.[test]'
    rm -r "$folder/root/site-packages/swdual"
fi
rm -rf "$folder/root/swdual"
mkdir "$folder/root/swdual"
git archive HEAD | tar -x -C "$folder/root/swdual"

tiers='(smoke or not (cluster or process or fuzz or bench or exhaustive or slow))'
for tests; do
    log=$folder/${tests//\//_}.log
    arm env -i -C /swdual PATH=/usr/bin:/bin HOME=/root LANG=C.UTF-8 SWDUAL_TEST_CACHE=/cache \
        PYTHONPATH=/swdual:/site-packages python3 -m pytest -n0 -q -rfEs \
        -p no:cacheprovider --hypothesis-profile=quick -m "$tiers" "$tests" > "$log" 2>&1 || true
    printf '%-28s %s\n' "$tests" "$(tail -n 1 "$log")"
done
