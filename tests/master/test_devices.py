"""Devices: what each text means on machines with and without GPUs, and how many CPUs there are."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from swdual import registry
from swdual.backend import Device
from swdual.errors import DeviceError, InputError
from swdual.master import devices as devices_module
from swdual.master.devices import (
    describe_devices,
    device_mix,
    explain_no_gpu,
    list_gpus,
    parse_devices,
)

CPU = Device("cpu", "simd")
CARDS = [Device("gpu", "cuda", {"number": number}) for number in range(2)]


@pytest.fixture
def cards(monkeypatch):
    """Two GPUs."""
    monkeypatch.setattr(devices_module, "list_gpus", lambda limit=None: CARDS)


@pytest.fixture
def no_cards(monkeypatch):
    monkeypatch.setattr(devices_module, "list_gpus", lambda limit=None: [])


@pytest.mark.parametrize(
    ("text", "threads", "expected"),
    [
        ("auto", 8, [CPU] * 6 + CARDS),
        ("auto", 3, [CPU, *CARDS]),
        ("auto", 2, [CPU, *CARDS]),
        ("auto", 1, [CPU, *CARDS]),
        ("hybrid", 8, [CPU] * 6 + CARDS),
        ("hybrid", 1, [CPU, *CARDS]),
        ("cpu", 8, [CPU] * 8),
        ("cuda", 8, CARDS),
        ("cuda:0", 8, CARDS[:1]),
        ("cuda:1", 8, CARDS[1:]),
        ("cuda:0,1", 8, CARDS),
        ("cuda:1,0,1", 8, CARDS),
    ],
)
def test_with_two_gpus_a_core_is_reserved_for_each(cards, text, threads, expected):
    """But one CPU computes at least, unless only GPUs were asked for."""
    assert parse_devices(text, threads) == expected


@pytest.mark.parametrize("text", ["auto", "cpu"])
def test_without_gpus_all_cpus_compute(no_cards, text):
    """By whatever backend was asked for."""
    assert parse_devices(text, 3) == [CPU] * 3
    assert parse_devices(text, 2, "reference") == [Device("cpu", "reference")] * 2


def test_the_backend_is_that_of_the_cpus(cards):
    """GPUs have their own."""
    assert parse_devices("hybrid", 3, "reference") == [Device("cpu", "reference"), *CARDS]


@pytest.mark.parametrize("text", ["cuda", "hybrid", "cuda:0", "cuda:0,1"])
def test_gpus_that_are_not_there_are_a_device_error(no_cards, text):
    """Exit code 3, and what to do instead."""
    with pytest.raises(DeviceError, match="use `device='cpu'`") as caught:
        parse_devices(text, 4)
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [("cuda:2", "no GPU 2 to be used, but cuda:0, cuda:1"), ("cuda:0,7,5", "no GPU 5 to be used")],
)
def test_a_gpu_beyond_the_last_is_a_device_error(cards, text, words):
    """The first that is missing is named."""
    with pytest.raises(DeviceError, match=words):
        parse_devices(text, 4)


@pytest.mark.parametrize(
    "text",
    ["", "gpu", "CPU", "Auto", "cuda:", "cuda:x", "cuda:-1", "cuda:0,", "cuda: 0", "cuda0", "cpu "],
)
def test_a_text_that_means_nothing_is_an_input_error(cards, text):
    """It is shown, with all that could be meant."""
    with pytest.raises(
        InputError, match="it must be auto, cpu, cuda, cuda:0,1 or hybrid"
    ) as caught:
        parse_devices(text, 4)
    assert repr(text) in str(caught.value)
    assert caught.value.exit_code == 1


def test_cpus_are_not_kept_waiting_for_gpus(monkeypatch):
    """Who asks for CPUs gets them though the GPUs' driver is broken."""

    def broken():
        raise AssertionError("nobody asked for GPUs")

    monkeypatch.setattr(devices_module, "list_gpus", broken)
    assert parse_devices("cpu", 1) == [CPU]


@pytest.mark.parametrize("kind", ["", "tpu", "GPU"])
def test_a_device_is_a_cpu_or_a_gpu(kind):
    """Anything else is refused."""
    with pytest.raises(InputError, match="of kind 'cpu' or 'gpu'"):
        Device(kind)


def test_equal_devices_have_one_name_and_unlike_ones_two():
    """Whatever the order of their settings."""
    assert Device("gpu", "x", {"b": 2, "a": 1}).name == Device("gpu", "x", {"a": 1, "b": 2}).name
    assert len({Device("gpu", "x", {"a": number}).name for number in range(3)}) == 3
    assert Device().name == "simd"


def test_gpus_are_what_the_backends_find(monkeypatch):
    """Each backend that has `devices` is asked, in the order of their names; others have none.

    GPUs of one model have rates of one name, whatever their number and the limit of their memory.
    """
    modules = {
        "a": SimpleNamespace(bind=None),
        "b": SimpleNamespace(
            devices=lambda: [{"number": 0}, {"number": 2}], find_model=lambda number: "NVIDIA H200"
        ),
        "c": SimpleNamespace(devices=list, why_not=lambda: "no driver; install it"),
        "d": SimpleNamespace(
            devices=lambda: [{"number": 1}], why_not=lambda: None, find_model=lambda number: ""
        ),
    }
    monkeypatch.setattr(registry, "available", lambda package: sorted(modules))
    monkeypatch.setattr(registry, "load", lambda package, name: modules[name])
    names = [(device.kind, device.name) for device in list_gpus()]
    assert names == [("gpu", "b number=0"), ("gpu", "b number=2"), ("gpu", "d number=1")]
    assert [each.settings["memory_limit"] for each in list_gpus(5 << 30)] == [5 << 30] * 3
    assert [device.rates_name for device in list_gpus()] == ["b NVIDIA H200"] * 2 + ["d number=1"]
    assert [device.rates_name for device in list_gpus(5 << 30)][:2] == ["b NVIDIA H200"] * 2
    assert device_mix(list_gpus(5 << 30)[:2]) == "2 b NVIDIA H200"
    assert explain_no_gpu() == "no driver; install it"


def test_gpus_are_chosen_by_the_numbers_of_the_driver(monkeypatch):
    """Where the first is too old, the second is still number 1."""
    second = Device("gpu", "cuda", {"number": 1})
    monkeypatch.setattr(devices_module, "list_gpus", lambda limit=None: [second])
    assert parse_devices("cuda:1", 2) == [second]
    with pytest.raises(DeviceError, match="no GPU 0 to be used, but cuda:1"):
        parse_devices("cuda:0", 2)


def test_cpus_compute_with_the_backends_of_cpus():
    """GPUs are chosen as devices."""
    with pytest.raises(InputError, match="`device='cuda'`"):
        parse_devices("cpu", 2, "cuda")


def test_what_computes_is_named_after_the_kinds():
    """One word for results."""
    assert describe_devices([CPU, CPU]) == "cpu"
    assert describe_devices(CARDS) == "gpu"
    assert describe_devices([CPU, *CARDS]) == "hybrid"


def test_a_crowd_is_named_after_what_computes_together():
    """Whatever the order; unlike crowds have unlike names."""
    assert device_mix([CPU, *CARDS]) == device_mix([*CARDS[::-1], CPU])
    crowds = [[CPU], [CPU, CPU], [CPU, *CARDS], CARDS, CARDS[:1], CARDS[1:], [Device("cpu", "x")]]
    assert len({device_mix(devices) for devices in crowds}) == len(crowds)
