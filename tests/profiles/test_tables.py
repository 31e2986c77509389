"""Tables of other programs become profiles: probabilities, logarithms, log-odds in any unit."""

from __future__ import annotations

import numpy as np
import pytest

import swdual
from swdual.errors import InputError
from swdual.profiles import Profile, read_profile
from swdual.profiles.tables import LETTERS
from swdual.sequences.alphabet import PROTEIN

CODES = np.frombuffer(PROTEIN.encode(LETTERS), np.uint8)
ROBINSON = dict(
    zip(
        "ARNDCQEGHILKMFPSTWYV",
        [
            *(78.05, 51.29, 44.87, 53.64, 19.25, 42.64, 62.95, 73.77, 21.99, 51.42),
            *(90.19, 57.44, 22.43, 38.56, 52.03, 71.20, 58.41, 13.30, 32.16, 64.41),
        ],
        strict=True,
    )
)
"""Frequencies of amino acids by Robinson and Robinson (1991), per thousand."""


@pytest.fixture(scope="module")
def frequencies():
    """Return probabilities of the amino acids at 60 positions, some of them very uneven."""
    rng = np.random.default_rng(7)
    drawn = rng.dirichlet(20 * background(), 60)
    drawn[::3] = 0.1 * drawn[::3] + 0.9 * np.eye(20)[rng.integers(20, size=20)]
    return 0.98 * drawn + 0.02 * background()


@pytest.fixture(scope="module")
def profile(frequencies, tmp_path_factory):
    """Return the profile of a model of HMMER3 with these emissions."""
    dummy = " ".join(["1.0"] * 20)
    moves = "0.01 5.0 5.0 0.6 0.8 0.5 0.7"
    lines = ["HMMER3/f [x]", "NAME x", f"LENG {len(frequencies)}", "ALPH amino"]
    lines += ["HMM " + " ".join(LETTERS), "m->m m->i m->d i->m i->i d->m d->d", dummy, moves]
    for number, row in enumerate(frequencies, start=1):
        lines += [f"{number} " + " ".join(repr(float(x)) for x in -np.log(row)), dummy, moves]
    path = tmp_path_factory.mktemp("model") / "x.hmm"
    path.write_text("\n".join([*lines, "//"]) + "\n")
    return read_profile(path)


def background():
    """Return the frequencies of Robinson and Robinson in alphabetical order."""
    found = np.array([ROBINSON[letter] for letter in LETTERS])
    return found / found.sum()


def assert_same(found, profile):
    """Fail unless scores are those of the profile, but for a rounding here and there."""
    assert np.array_equal(found.frequencies > 0, profile.frequencies > 0)
    assert np.allclose(found.frequencies, profile.frequencies, rtol=1e-6, atol=1e-9)
    differing = np.abs(found.scores[:, CODES] - profile.scores[:, CODES])
    assert differing.max() <= 1
    assert np.mean(differing > 0) < 0.01


UNITS = {
    "probabilities": lambda found: found,
    "logarithms": np.log,
    "nats": lambda found: np.log(found / background()),
    "bits": lambda found: np.log2(found / background()),
    "half bits": lambda found: 2 * np.log2(found / background()),
}


@pytest.mark.parametrize("unit", UNITS)
def test_frequencies_come_back_in_any_unit(tmp_path, profile, frequencies, unit):
    """From an array, and from files."""
    values = UNITS[unit](frequencies)
    query = PROTEIN.decode(profile.codes)
    assert_same(Profile.from_frequencies(values, query), profile)
    np.save(tmp_path / "x.npy", values)
    found = read_profile(tmp_path / "x.npy")
    assert_same(found, profile)
    assert found.title == "x.npy"
    assert found.codes == CODES[frequencies.argmax(axis=1)].tobytes()
    np.savetxt(tmp_path / "x.csv", values, delimiter=",")
    assert_same(read_profile(tmp_path / "x.csv"), profile)


def test_columns_may_be_named_in_any_order(tmp_path, profile, frequencies):
    order = np.random.default_rng(1).permutation(20)
    query = PROTEIN.decode(profile.codes)
    lines = ["residue\t" + "\t".join(LETTERS[k] for k in order)]
    lines += [
        "\t".join([letter, *(repr(float(row[k])) for k in order)])
        for letter, row in zip(query, frequencies, strict=True)
    ]
    (tmp_path / "x.tsv").write_text("\n".join(lines) + "\n")
    found = read_profile(tmp_path / "x.tsv")
    assert_same(found, profile)
    assert found.codes == profile.codes


def test_whole_half_bits_are_log_odds(profile):
    """As the scores of a PSSM: rounded, so that odds are 1 on average but not in each row."""
    found = Profile.from_frequencies(profile.scores[:, CODES])
    assert np.abs(found.scores[:, CODES] - profile.scores[:, CODES]).max() <= 2


def test_numbers_of_one_byte_are_read(tmp_path, frequencies):
    np.save(tmp_path / "x.npy", frequencies.astype(np.float32))
    assert len(read_profile(tmp_path / "x.npy")) == len(frequencies)


def test_a_search_takes_a_table(run, here, profile, frequencies):
    """The command, too; hits are those of the profile."""
    np.save("x.npy", frequencies)
    likely = PROTEIN.decode(profile.codes)
    swdual.makedb({"a": likely, "b": likely[20:], "c": "GGGG", "d": likely[:40]}, "t.db").close()
    outcome = run("search", "--pssm", "x.npy", "t.db", "-e", "1e-6", "-f", "6 sseqid")
    assert outcome.code == 0, outcome.err
    expected = swdual.search(profile, "t.db", evalue=1e-6)[0]
    assert outcome.out.split() == expected.target_ids
    assert len(expected) == 3


def uniform(positions=3):
    """Return equal probabilities."""
    return np.full((positions, 20), 0.05)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.zeros((3, 21)), "found shape (3, 21)"),
        (np.zeros(20), "found shape (20,)"),
        (np.zeros((0, 20)), "found shape (0, 20)"),
        (uniform() * np.array([[1], [np.nan], [1]]), "position 2 has a value that is no finite"),
        (uniform() * 60, "neither probabilities nor log-odds"),
        (uniform() - 40, "neither probabilities nor log-odds"),
        (np.full((3, 20), 5.0), "those of position 1 sum to 100"),
    ],
)
def test_other_numbers_are_refused(tmp_path, values, words):
    with pytest.raises(InputError) as error:
        Profile.from_frequencies(values)
    assert words in str(error.value)
    np.save(tmp_path / "x.npy", values)
    with pytest.raises(InputError, match=r"x\.npy: ") as error:
        read_profile(tmp_path / "x.npy")
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.npy", b"", "is no array of NumPy"),
        ("x.npy", b"\x93NUMPY", "is no array of NumPy"),
        ("x.npy", b"hello\n", "is no array of NumPy"),
        ("x.csv", b"1,2,3\n", "x.csv:1: expected 21 columns".replace("21", "20")),
        ("x.csv", b"A,C,D\n1,2,3\n", "x.csv:1: expected a column for each of A C D"),
        ("x.csv", ",".join(LETTERS).encode() + b"\n" + b"x," * 20 + b"\n", "x.csv:2: expected"),
        ("x.csv", (",".join(LETTERS) + ",A\n").encode(), "A is not there once"),
        ("x.csv", b"\n", "x.csv: is empty"),
    ],
)
def test_other_files_are_refused(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as error:
        read_profile(tmp_path / name)
    assert words in str(error.value)


def test_objects_are_never_unpickled(tmp_path):
    np.save(tmp_path / "x.npy", np.array([{"a": 1}], object), allow_pickle=True)
    with pytest.raises(InputError, match="is no array of NumPy"):
        read_profile(tmp_path / "x.npy")
    np.save(tmp_path / "x.npy", np.array(["a"]))
    with pytest.raises(InputError, match="is no array of numbers"):
        read_profile(tmp_path / "x.npy")


def test_the_query_must_have_as_many_residues():
    with pytest.raises(InputError, match="the query has 2 residues, the table 3 rows"):
        Profile.from_frequencies(uniform() + 0.0, "MK")
