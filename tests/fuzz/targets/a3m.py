"""Multiple alignments in a3m as HH-suite, ColabFold, AlphaFold and MMseqs2 write them.

What is read is written as aligned FASTA, plain and with what other programs add, and read again.
"""

from __future__ import annotations

import gzip

import numpy as np
from fuzz.target import explained, listening, stored

from swdual.profiles.letters import EMPTY, GAP
from swdual.profiles.msa import read_msa
from swdual.profiles.rows import show_rows
from swdual.sequences.alphabet import INVALID, PROTEIN


def target(data):
    """Read a multiple alignment."""
    if not data:
        return
    with explained(), listening():
        msa = read_msa(stored(data[1:], "input.a3m"), master=data[0] % 4 or 1)
        assert msa.rows.shape[1] == len(msa.codes) == len(msa.left_out) > 0
        assert not {GAP, EMPTY, INVALID} & {*msa.codes}
        query = PROTEIN.decode(msa.codes)
        query = "".join(
            letter.lower() if out else letter
            for letter, out in zip(query, msa.left_out, strict=True)
        )
        rows = [query, *show_rows(msa.rows)]
        fasta = "".join(f">row {number}\n{row}\n" for number, row in enumerate(rows))
        annotated = f"#A3M#\n#{len(query)}\t1\n>ss_conf x\n{'9' * len(query)}\n{fasta}\n\0"
        for text in (fasta, annotated):
            again = read_msa(stored(text.encode(), "again.a3m"))
            assert again.codes == msa.codes
            assert np.array_equal(again.rows, msa.rows)
            assert np.array_equal(again.left_out, msa.left_out)


def seeds():
    """Return alignments of the programs in use, sound and damaged."""
    rows = [
        b">101\nMKVLAWGHERMKVLAWDEFS\n",
        b">UniRef100_A0A1\t340\t0.95\t1e-50\t0\t19\t20\nMKILSWYGHdrMRVLGWDEYS\n",
        b">h2\n--ILSW----MRVLkkkkG---YS\n",
        b">h3 long gap\nMK----------------FS\n",
    ]
    plain = b"".join(rows)
    pred = b">ss_pred PSIPRED\nCCHHHHHHHHHHCCCCEEEE\n>ss_conf\n91234567890123456789\n"
    extra = b">sa_dssp\nABCD\n>aa_dssp\nMKV\n>Consensus\nMKV\n>cons_x\nMKV\n"
    texts = [
        plain,
        b"#A3M#\n" + plain,
        b"#20\t1\n" + plain,
        b"#20,20\t1,1\n" + plain,
        b"#cl|x\n\n" + pred + extra + plain,
        pred,
        plain + b"\0",
        plain + b"\n\0\n\n",
        plain + b"\0" + rows[0] + rows[3],
        plain + b"\0" + plain.replace(b">101\nM", b">102\nA"),
        plain.replace(b"\n", b"\0"),
        plain.replace(b"\n", b"\r\n"),
        plain.replace(b"MKVL", b"MK\nVL"),
        plain.replace(b"MKVL", b"MKvL"),
        plain.replace(b"MKVL", b"MK-L"),
        plain.replace(b">h3", b"# comment\n>h3"),
        plain.upper().replace(b"M", b"U"),
        plain.replace(b"FS", b"F*"),
        b"\xef\xbb\xbf" + plain,
        plain.decode().encode("utf-16"),
        plain.replace(b"h2", b"ss_\x1b[31m"),
        b">ss_" + b"x" * 4000 + b"\nMKV\n>q\nMKV\n",
        b"MSAPROBS version 0.9.7 multiple sequence alignment\n\nq  MKV-LAW\nr  MKVVL--\n",
        b"# STOCKHOLM 1.0\n#=GS h DE x\nq  MKV..LAW\nh  MK-aaLAW\nss_pred CCC..CCC\n//\n",
        gzip.compress(plain),
        b"#A3M#\n",
        b">\n>\n",
        b"\0",
    ]
    return [kind + text for text in texts for kind in (b"\x01", b"\x02")]
