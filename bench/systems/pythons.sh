#!/usr/bin/env bash
# Run the quick tests with the oldest and the newest libraries that pyproject.toml allows.
#
#     bench/systems/pythons.sh FOLDER PYTHON...
#
# A PYTHON is the path of an interpreter. Its two environments are made with uv in the folder, which
# keeps them, their compiled kernels and what the tests printed, too. The table goes to the output.
set -euo pipefail
folder=$(realpath -m "$1")
shift
cd "$(dirname "$0")/../.."

echo "| Python | resolution | NumPy | Numba | passed | failed | skipped | seconds |"
echo "|---|---|---|---|---|---|---|---|"
for python; do
    version=$("$python" -c 'import platform; print(platform.python_version())')
    for resolution in lowest-direct highest; do
        here="$folder/$version-$resolution"
        mkdir -p "$here"
        uv venv --quiet --clear --python "$python" "$here/venv"
        uv pip install --quiet --python "$here/venv" --resolution "$resolution" \
            --only-binary :all: --no-binary swdual --editable '.[test]'
        uv pip freeze --quiet --python "$here/venv" > "$here/libraries.txt"
        PATH="$here/venv/bin:$PATH" SWDUAL_TEST_CACHE="$here/cache" \
            pytest --junitxml="$here/tests.xml" > "$here/tests.log" 2>&1 || true
        "$here/venv/bin/python" - "$here/tests.xml" "$version" "$resolution" <<'END'
import sys
from importlib.metadata import version
from xml.etree import ElementTree

tests = ElementTree.parse(sys.argv[1]).find("testsuite").attrib
failed = int(tests["failures"]) + int(tests["errors"])
skipped = int(tests["skipped"])
numbers = [int(tests["tests"]) - failed - skipped, failed, skipped, round(float(tests["time"]))]
print("|", " | ".join(map(str, [*sys.argv[2:], version("numpy"), version("numba"), *numbers])), "|")
END
    done
done
