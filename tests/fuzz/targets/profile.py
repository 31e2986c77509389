"""Profiles in ASN.1 text, ASCII PSSMs and models of HMMER3, and multiple alignments.

What is read is written as ASN.1 text, and read again.
"""

from __future__ import annotations

import gzip

import numpy as np
from fuzz.target import explained, stored

from swdual.profiles import Profile, read_profile


def target(data):
    """Read a profile, or make one of a multiple alignment."""
    if not data:
        return
    path = stored(data[1:], "input.profile")
    with explained():
        if data[0] % 3 == 0:
            profile = read_profile(path)
        else:
            profile = Profile.from_msa(path, master=data[0] % 3, ignore_master=data[0] > 128)
        assert profile.scores.shape == (len(profile), 32)
        written = stored(b"", "output.asn")
        profile.write(written, force=True)
        again = read_profile(written)
        assert np.array_equal(again.scores, profile.scores)
        assert again.codes == profile.codes
        if profile.frequencies is not None:
            assert profile.unscaled.lambda_ > 0


def seeds():
    """Return small profiles and alignments, sound and damaged."""
    rows = [b"MKVLAW-GHERM", b"MKILSWYGHDRM", b"--ILSWYGHdrM", b"MRVxXW-G---M"]
    fasta = b"".join(b">s%d title\n%s\n" % each for each in enumerate(rows))
    blocks = b"".join(b"s%d  %s\n" % each for each in enumerate(rows))
    stockholm = b"# STOCKHOLM 1.0\n#=GF ID x\n" + blocks + b"//\n"
    profile = Profile.from_alignments("MKVLAWGHERM", ["MKILSWGHDRM"], title="q")
    profiles = []
    for name in ("seed.asn", "seed.pssm"):
        path = stored(b"", name)
        profile.write(path, force=True)
        profiles.append(path.read_bytes())
    asn, ascii_pssm = profiles
    profiles += [
        gzip.compress(asn),
        asn[: len(asn) // 2],
        asn.replace(b"isProtein TRUE", b"isProtein FALSE"),
        asn.replace(b"BLOSUM62", b"FOO"),
        asn.replace(b"},\n        {", b"},\n\x1e{", 1),
        asn.replace(b"numColumns 11", b"numColumns 12"),
        asn.replace(b"scores {", b"scores { x,"),
        asn.replace(b"freqRatios", b"ratios"),
        ascii_pssm.replace(b"Gapped", b"x"),
        ascii_pssm.replace(b"-4", b"-4000000"),
        ascii_pssm[:900],
        b"HMMER3/f\nLENG 2\nHMM A C\n",
        b"",
        b"\xff\xfe\x00",
    ]
    alignments = [
        fasta,
        fasta.replace(b"\n", b"\r\n"),
        fasta.replace(b"ERM", b"ERMM", 1),
        fasta.replace(b"M", b"\x1b[31m"),
        fasta.replace(b"MKV", b"aMcKV"),
        fasta.replace(b"MKVLAW", b"XXXXXX"),
        stockholm,
        stockholm * 2,
        b"CLUSTAL W\n\n" + blocks,
        b"CLUSTAL W\n\n" + blocks.replace(b"\n", b" 12\n"),
        gzip.compress(fasta)[:-9],
        b">\n\n>\n\n",
        b"\n \n",
    ]
    kinds = (b"\x01", b"\x02", b"\x83")
    return [b"\x00" + text for text in profiles] + [
        kind + text for text in alignments for kind in kinds
    ]
