#!/usr/bin/env bash
# Install the programs that bench/peers/ compares with swdual, each in the version named here.
#
#     bench/peers/build.sh PREFIX [PROGRAM ...]
#
# A PROGRAM is blast, diamond, mmseqs, hmmer, fasta, swipe or libssa; all are the default.
# PREFIX/bin receives their commands, PREFIX/logs what each printed, PREFIX/versions.tsv what was
# installed. A program that fails is named at the end, and the others are installed. SWIMM2 is left
# out: it needs Intel's compiler. With GCC 12, a quarter of its scores came out too low.
#
# Needs Debian or Ubuntu on x86-64, with autoconf, cmake, g++, git, make, xxd, zlib1g-dev,
# libbz2-dev and debian-archive-keyring. Nothing outside PREFIX is changed. Variables:
#
# SOURCES   a folder of clones, each named OWNER+NAME, instead of GitHub
# DEBIAN    a mirror of Debian, or an archive of its past, once a version is no longer in SUITE
# SUITE     sid
# JOBS      as many compilers at once as there are processors
set -euo pipefail
debian=${DEBIAN:-http://deb.debian.org/debian}
jobs=${JOBS:-$(nproc)}

# Clone at a commit, without large test data: clone OWNER/NAME COMMIT FOLDER.
clone() {
    local from=https://github.com/$1
    [ -z "${SOURCES:-}" ] || from=$(realpath "$SOURCES/${1/\//+}")
    rm -rf "$3"
    git clone --quiet --no-checkout "$from" "$3"
    git -C "$3" sparse-checkout set --no-cone '/*' \
        '!/src/test/*.fa*' '!/tests/testdata/*' '!/benchmark/data/*'
    git -C "$3" -c advice.detachedHead=false checkout --quiet "$2"
}

# Unpack a package of Debian, with the libraries that it needs: unpack FOLDER PACKAGE=VERSION. What
# only scripts of the package need counts as installed.
unpack() {
    local folder=$1 state each
    shift
    rm -rf "$folder"
    state=$folder/apt
    mkdir -p "$state"/{lists,archives}/partial
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $debian" \
        "${SUITE:-sid} main" > "$state/sources.list"
    for each in python3 perl ncbi-data sse4.2-support; do
        printf '%s\n' "Package: $each" 'Status: install ok installed' 'Version: 999' \
            'Architecture: amd64' 'Multi-Arch: allowed' 'Maintainer: none' 'Description: none' ''
    done > "$state/status"
    {
        echo "Dir::State \"$state\"; Dir::State::status \"$state/status\"; Dir::Cache \"$state\";"
        echo "Dir::Etc::sourcelist \"$state/sources.list\"; Dir::Etc::sourceparts \"/dev/null\";"
        echo 'Dir::Etc::preferences "/dev/null"; Dir::Etc::preferencesparts "/dev/null";'
        echo 'Acquire::Check-Valid-Until "false"; Acquire::Languages "none";'
        echo 'APT::Sandbox::User ""; Debug::NoLocking "true";'
    } > "$state/apt.conf"
    export APT_CONFIG=$state/apt.conf
    apt-get -qq update
    apt-get -qq -y --no-install-recommends --download-only install "$@"
    for each in "$state"/archives/*.deb; do
        dpkg-deb --extract "$each" "$folder"
        basename "$each"
    done
    rm -r "$state"
}

# Write commands that run unpacked programs with their own libraries: wrap FOLDER COMMAND...
wrap() {
    local folder=$1 libraries=$1/usr/lib/x86_64-linux-gnu each
    shift
    for each; do
        printf '#!/bin/sh\nexec %s --library-path %s --argv0 "$0" %s "$@"\n' \
            "$libraries/ld-linux-x86-64.so.2" "$libraries:$folder/usr/lib/ncbi-blast+" \
            "$folder/usr/bin/$each" > "$prefix/bin/$each"
        chmod +x "$prefix/bin/$each"
    done
}

# Note what was installed: note VERSION SOURCE BUILD. A program that printed no version has failed.
note() {
    [ -n "$1" ]
    (IFS=$'\t' && echo "$program"$'\t'"$*") > "$prefix/rows/$program.tsv"
}

# Name the source: commit_of OWNER/NAME FOLDER
commit_of() {
    echo "$1 commit $(git -C "$2" rev-parse HEAD)"
}

build_blast() {
    unpack "$prefix/debian/blast" "ncbi-blast+=2.17.0+ds-7"
    wrap "$prefix/debian/blast" blastp psiblast makeblastdb blastdbcmd
    note "$("$prefix/bin/blastp" -version | head -n 1)" "Debian ncbi-blast+ 2.17.0+ds-7" \
        "Debian's build"
}

# The kernels for SSE4.1 and AVX2 are in every build and chosen at run time.
build_diamond() {
    unpack "$prefix/debian/diamond" "diamond-aligner=2.2.8-1"
    wrap "$prefix/debian/diamond" diamond
    note "$("$prefix/bin/diamond" version)" "Debian diamond-aligner 2.2.8-1" \
        "Debian's build, SSE4.1 or AVX2 chosen at run time"
}

# Release 18-8cc5c.
build_mmseqs() {
    local folder=$prefix/src/mmseqs
    clone soedinglab/MMseqs2 8cc5ce367b5638c4306c2d7cfc652dd099a4643f "$folder"
    cmake -S "$folder" -B "$folder/build" -DCMAKE_BUILD_TYPE=Release -DNATIVE_ARCH=1
    make -C "$folder/build" -j "$jobs" mmseqs
    cp "$folder/build/src/mmseqs" "$prefix/bin"
    note "$("$prefix/bin/mmseqs" version)" "$(commit_of soedinglab/MMseqs2 "$folder"), 18-8cc5c" \
        "$gcc, CMAKE_BUILD_TYPE=Release NATIVE_ARCH=1 (-O3 -march=native)"
}

# Release 3.4, with Easel 0.49.
build_hmmer() {
    local folder=$prefix/src/hmmer
    clone EddyRivasLab/hmmer 9acd8b6758a0ca5d21db6d167e0277484341929b "$folder"
    clone EddyRivasLab/easel 07ca83ba9ef0414dba9ce0a9331d465b5eb58f2b "$folder/easel"
    cd "$folder"
    autoconf
    (cd easel && autoconf)
    ./configure
    make -j "$jobs"
    cp src/{phmmer,jackhmmer,hmmbuild,hmmsearch} "$prefix/bin"
    note "$("$prefix/bin/phmmer" -h | sed -n 's/^# HMMER/HMMER/p')" \
        "$(commit_of EddyRivasLab/hmmer "$folder"), $(commit_of EddyRivasLab/easel easel)" \
        "$gcc, configure's $(sed -n 's/^CFLAGS *= *//p' src/Makefile), SSE2"
}

# Branch v36.3.8: there is no tag after 36.3.8i of November 2020.
build_fasta() {
    local folder=$prefix/src/fasta
    clone wrpearson/fasta36 0d62361ab20396d5884fe3fe0fc6a0417675e663 "$folder"
    make -C "$folder/src" -f ../make/Makefile.linux64_sse2 ssearch36
    cp "$folder/bin/ssearch36" "$prefix/bin"
    note "$("$prefix/bin/ssearch36" 2>&1 | sed -n 's/^ *version/version/p')" \
        "$(commit_of wrpearson/fasta36 "$folder")" "$gcc, Makefile.linux64_sse2 (-O -msse2)"
}

# Release 2.1.1. It reads databases of makeblastdb -blastdb_version 4.
build_swipe() {
    local folder=$prefix/src/swipe
    clone torognes/swipe 314123b8ce5339dd3952e541678e5f848c6b2487 "$folder"
    make -C "$folder" -j "$jobs" swipe
    cp "$folder/swipe" "$prefix/bin"
    note "$("$prefix/bin/swipe" -h 2>&1 | grep -m 1 ^SWIPE)" \
        "$(commit_of torognes/swipe "$folder")" "$gcc, its Makefile (-O3 -mssse3)"
}

# The library has an example program, which prints the scores of one query.
build_libssa() {
    local folder=$prefix/src/libssa
    clone RonnySoak/libsdb d5b507faf9e0e3d022d6a7f2e1280bdc25916040 "$prefix/src/libsdb"
    clone RonnySoak/libssa fdd1d00d76c73e97db28bda88c6b24304bb14795 "$folder"
    make -C "$prefix/src/libsdb" libsdb
    make -C "$folder" libssa_example
    cp "$folder/libssa_example" "$prefix/bin"
    note "prints none" "$(commit_of RonnySoak/libssa "$folder"),\
 $(commit_of RonnySoak/libsdb "$prefix/src/libsdb")" "$gcc, its Makefile (-O3 -march=native)"
}

every=(blast diamond mmseqs hmmer fasta swipe libssa)
mkdir -p "${1:?build.sh PREFIX [PROGRAM ...]}"
prefix=$(realpath "$1")
shift
[ $# != 0 ] || set -- "${every[@]}"
mkdir -p "$prefix"/{bin,src,debian,logs,rows}
gcc="gcc $(gcc -dumpfullversion)"

failed=()
for program; do
    start=$SECONDS
    set +e
    (set -e; "build_$program") > "$prefix/logs/$program.log" 2>&1 < /dev/null
    status=$?
    set -e
    if [ $status = 0 ]; then
        echo "$program: $((SECONDS - start)) s: $(cut -f 2 "$prefix/rows/$program.tsv")"
    else
        failed+=("$program")
        rm -f "$prefix/rows/$program.tsv"
        echo "$program: failed, see $prefix/logs/$program.log"
    fi
done
{
    printf 'program\tversion\tsource\tbuild\n'
    for program in "${every[@]}"; do
        cat "$prefix/rows/$program.tsv" 2> /dev/null || true
    done
} > "$prefix/versions.tsv"
if [ ${#failed[@]} != 0 ]; then
    echo "Failed: ${failed[*]}"
    exit 1
fi
