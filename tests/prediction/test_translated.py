"""Plans of translated searches: frames, frameshifts, sum statistics."""

from __future__ import annotations

import json
from functools import partial

import pytest
from support.genes import random_genes, random_proteins

import swdual
from swdual.backend import Device
from swdual.errors import InputError
from swdual.master import calibration_cache, cost, partition, scoring_stage, worker
from swdual.master.calibration_cache import CalibrationCache, Setting
from swdual.master.cost import CostModel
from swdual.master.setup import resolve_devices
from swdual.master.worker import register
from swdual.prediction import adjustment, preview
from swdual.prediction.preview import Preview
from swdual.request.comparisons.frameshifted import Frameshifted
from swdual.request.options import SearchOptions
from swdual.request.search_parameters import SearchParameters
from swdual.sequences.matrices import load
from swdual.sequences.scoring import ScoringScheme

PROTEINS = random_proteins(5, 40, longest=300)
GENES = random_genes(6, PROTEINS)
RATES = {"cpu": 45}
BLASTX = {"task": "blastx", "dbtype": "prot"}


def preview_of(queries=GENES, targets=PROTEINS, **options):
    return Preview(queries, targets, 2, 0, RATES, SearchOptions(**{**BLASTX, **options}))


def test_frameshifts_take_longer_and_have_the_cells_of_all_frames():
    """A row of each of the two strands is a nucleotide."""
    without, shifts = preview_of(), preview_of(frameshift=15)
    assert shifts.cells == pytest.approx(without.cells, rel=0.05)
    ratio = shifts.plan("dual").makespan / without.plan("dual").makespan
    assert ratio == pytest.approx(Frameshifted.cell_cost, rel=0.15)


@pytest.mark.parametrize("frameshift", [0, 15])
def test_a_search_predicts_the_same_tasks(monkeypatch, frameshift):
    """Tasks are of as many cells as there are, and the plan is that of `swdual plan`."""
    seen = []

    def watched(given, **options):
        seen.append(partition.partition_tasks(given, **options))
        return seen[-1]

    monkeypatch.setattr(scoring_stage, "partition_tasks", watched)
    swdual.search(GENES, PROTEINS, frameshift=frameshift, threads=2, **BLASTX)
    planned = preview_of(frameshift=frameshift)
    assert seen[0].cells.sum() == planned.cells
    assert planned.partition("dual").cells.sum() == planned.cells


def test_cells_with_frameshifts_have_rates_of_their_own(monkeypatch, tmp_path):
    """A search of one kind does not correct the rates of the other."""
    monkeypatch.setattr(calibration_cache, "cache_folder", lambda: tmp_path)
    scheme = ScoringScheme(load("BLOSUM62"))
    plain = SearchParameters(scheme)
    shifted = SearchParameters(scheme, comparison=Frameshifted(1, frameshift=15))
    assert Setting.of(plain).name == "with bounds"
    assert Setting.of(SearchParameters(scheme, stats="fit")).name == ""
    assert Setting.of(shifted, "in a node").name == "in a node with frameshifts"
    measured = []

    def measure(each):
        measured.append(each)
        return CostModel.from_dict({"gcups": 1 + (each is shifted)})

    for each in (plain, shifted, plain, shifted):
        book = CalibrationCache(Setting.of(each))
        book.find("simd", "1 simd", partial(measure, each))
    assert measured == [plain, shifted]
    assert len(json.loads((tmp_path / "rates.json").read_text())[cost.machine()]) == 2


def test_frameshifts_are_calibrated(monkeypatch, tmp_path):
    """What a plan and a search measure is a scorer with frameshifts."""
    monkeypatch.setattr(calibration_cache, "cache_folder", lambda: tmp_path)
    schemes = []

    def measure(scorer_of, *_):
        schemes.append(scorer_of.keywords["scheme"])
        return CostModel.from_dict({"gcups": 1})

    for module in (preview, worker):
        monkeypatch.setattr(module, "calibrate", measure)
    Preview(GENES, PROTEINS, 2, 0, None, SearchOptions(**BLASTX, frameshift=15))
    scheme = ScoringScheme(load("BLOSUM62"), frameshift=14)
    register([Device("cpu")], None, scheme, CalibrationCache(Setting(cells="of another search")))
    assert [each.frameshift for each in schemes] == [15, 14]


@pytest.mark.parametrize("device", ["cuda", "cuda:1", "hybrid"])
def test_a_search_with_frameshifts_refuses_gpus(device):
    message = f"`device='{device}'`: the kernels of GPUs have no cells with frameshifts; use"
    with pytest.raises(InputError, match=message):
        resolve_devices(SearchOptions(device=device), 1 << 40, Frameshifted(1, frameshift=15))


def test_gpus_have_no_frameshifts(monkeypatch):
    options = SearchOptions(**BLASTX, frameshift=15)
    with pytest.raises(
        InputError, match="`gpus=1`: the kernels of GPUs have no cells with frameshifts"
    ):
        Preview(GENES, PROTEINS, 2, 1, {"cpu": 1, "gpu": 2}, options)
    monkeypatch.setattr(preview, "list_gpus", lambda: [Device("gpu")])
    assert Preview(GENES, PROTEINS, 2, None, RATES, options).kinds == ["cpu", "cpu"]


@pytest.mark.parametrize("task", ["blastx", "tblastn"])
@pytest.mark.parametrize("mode", [0, 2])
def test_linking_takes_time(monkeypatch, task, mode):
    """By default; the candidates are those of the wider limit of E-values."""
    names = {"queries": GENES, "targets": PROTEINS}
    if task == "tblastn":
        names = {"queries": PROTEINS, "targets": GENES}
    options = {"task": task, "dbtype": "prot" if task == "blastx" else "nucl"}
    options |= {"comp_based_stats": mode, "evalue": 0.1}
    # Measured seconds would be those of whatever else this machine does.
    monkeypatch.setattr(adjustment, "measure_adjustment", lambda params: (1e-4, 1e-9))
    monkeypatch.setattr(adjustment, "measure_tracing", lambda params: 1e-8)
    plain, linked = (
        preview_of(**names, **options, sum_stats=sums).adjustment for sums in (False, None)
    )
    assert plain.action == "adjusting"
    assert linked.action == ("adjusting and linking" if mode else "linking")
    assert linked.candidates > 0
    assert linked.seconds > plain.seconds
    assert (plain.candidates > 0) == (mode > 0)
    assert "linking about" in linked.describe(1.0)


def test_six_frames_have_the_candidates_of_one():
    """Within a factor of three: most frames are pieces between stop codons."""
    options = {"evalue": 1.0, "comp_based_stats": 2}
    found = swdual.search(GENES, PROTEINS, **BLASTX, **options, align=False)
    expected = preview_of(**options).adjustment.candidates
    assert expected / 3 < found.adjustment_counts.candidates < 3 * expected


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"frameshift": 15, "task": "tblastx"}, "`frameshift=15` is for"),
        ({"frameshift": 15, "sum_stats": True}, "`sum_stats` cannot be combined"),
        ({"frameshift": -1}, "`frameshift` is -1"),
    ],
)
def test_what_a_search_refuses_a_plan_refuses(options, words):
    targets = GENES if options.get("task") == "tblastx" else PROTEINS
    dbtype = {"dbtype": "nucl"} if options.get("task") == "tblastx" else {}
    with pytest.raises(InputError, match=words):
        preview_of(targets=targets, **dbtype, **options)


def test_the_command_has_these_options(run, here):
    for name, records in (("g.fa", GENES), ("p.fa", PROTEINS)):
        (here / name).write_text("".join(f">{k}\n{x}\n" for k, x in records.items()))
    machine = ("--cpus", "1", "--rates", '{"cpu": 9}')
    words = ("plan", "g.fa", "p.fa", "--task", "blastx", "--dbtype", "prot", *machine)
    assert "linking about" in run(*words, "-e", "1").out
    assert "linking" not in run(*words, "-e", "1", "--sum-stats", "false").out
    outcome = run(*words, "-F", "15", "--json")
    assert json.loads(outcome.out)["cells"] == preview_of(frameshift=15).cells
    outcome = run("plan", "p.fa", "g.fa", "--task", "tblastn", "--dbtype", "nucl", *machine)
    assert outcome.code == 0, outcome.err
