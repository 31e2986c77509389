#!/usr/bin/env bash
# Run quick tests as Windows runs them, under Wine, and count them. Speed means nothing there.
#
#     bench/systems/windows.sh FOLDER [TESTS ...]
#
# Needs Debian or Ubuntu on x86-64, root, uv, Python 3.11 and 3 GB. FOLDER receives Python for
# Windows with what swdual needs, compiled kernels, and the log of each of TESTS. A second run tests
# what is committed then, with what is there.
#
# The Python is that of python.org: wheels of Panda3D hold its libraries. What of it is written in
# Python is the same on Linux.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(realpath -m "$1")
shift
if [ $# = 0 ]; then
    set -- tests/{lanes,backends,alignment,masking,composition,profiles,statistics,io,runtime} \
        tests/test_{golden,translated}.py \
        tests/{database,formats,hits,master,sequences,scheduling,cli}
fi
export WINEPREFIX=$folder/wine WINEDEBUG=-all PYTHONDONTWRITEBYTECODE=1

for_windows() {
    uv pip install --quiet --link-mode copy --python-platform x86_64-pc-windows-msvc \
        --python-version 3.11 --only-binary :all: --no-binary swdual "$@"
}

if [ ! -e "$folder/python/python.exe" ]; then
    apt-get install -qq -y wine wine64 gcc-mingw-w64-x86-64-win32 > /dev/null
    mkdir -p "$folder/python/DLLs"
    for_windows --no-deps --target "$folder/panda" panda3d==1.10.16
    cp "$folder"/panda/deploy_libs/{python311,VCRUNTIME140*}.dll "$folder/python"
    cp "$folder"/panda/deploy_libs/{*.pyd,libffi*,libssl*,libcrypto*,sqlite3.dll} \
        "$folder/python/DLLs"
    library=$("$(uv python find 3.11)" -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
    mkdir "$folder/python/Lib"
    tar -c -C "$library" --exclude=site-packages --exclude=lib-dynload --exclude=./test . \
        | tar -x -C "$folder/python/Lib"
    for_windows --target "$folder/python/Lib/site-packages" '.[test]' tzdata
    python3 bench/systems/windows_libraries.py "$folder/python"
fi
rm -rf "$folder/swdual"
mkdir "$folder/swdual"
git archive HEAD | tar -x -C "$folder/swdual"

# Standard output is a pipe: Wine 8 gives Python no file there.
tiers='(smoke or not (cluster or process or fuzz or bench or exhaustive or slow))'
for tests; do
    log=$folder/${tests//\//_}.log
    (cd "$folder/swdual" && PYTHONPATH=. SWDUAL_TEST_CACHE="Z:$folder/cache" \
        wine "$folder/python/python.exe" -m pytest -n0 -q -rfEs -p no:cacheprovider \
        --hypothesis-profile=quick -m "$tiers" "$tests" < /dev/null 2>&1 | cat > "$log") || true
    printf '%-28s %s\n' "$tests" "$(tail -n 1 "$log")"
done
