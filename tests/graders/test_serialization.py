"""Graders as plain data, from hands nobody knows."""

import os
from contextlib import suppress
from dataclasses import fields

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.graders.examples import EXAMPLES
from workbench.core.errors import FormatError
from workbench.graders import Grader
from workbench.graders.base import KINDS
from workbench.graders.serialization import from_record, parts, record_of
from workbench.judges import Endpoint

SECRET = {"x-trace": "$AWS_SECRET_ACCESS_KEY"}
RECORDS = [record_of(make()) for name, make in EXAMPLES.items() if name != "custom"]
FIELDS = sorted({name for record in RECORDS for name in record} | {"source", "grader", "entries", "headers"})

plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
anything = st.recursive(
    plain | st.fixed_dictionaries({"kind": st.sampled_from(sorted(KINDS))}),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


checks = st.fixed_dictionaries({name: anything for name in ("name", "passed", "message", "seconds")})


@st.composite
def spoiled(draw):
    """A good record with anything in one of its fields, and perhaps a validation out of nowhere."""
    record = draw(st.sampled_from(RECORDS))
    name = draw(st.sampled_from([f.name for f in fields(KINDS[record["kind"]]) if f.init] + ["kind"]))
    validation = {
        "checks": draw(anything | st.lists(checks, max_size=2)),
        "warnings": draw(anything | st.lists(anything, max_size=2)),
        "isolation": draw(anything),
        "sha256": record.get("source", {}).get("sha256"),
    }
    more = {"validation": validation} if draw(st.booleans()) else {}
    return {**record, name: draw(anything), **more}


def nested(levels):
    record = {"kind": "contains", "expected": "x"}
    for _ in range(levels):
        record = {"kind": "per-turn", "grader": record}
    return record


def ends_well(record, *, trust):
    with suppress(FormatError):
        assert isinstance(from_record(record, trust=trust), Grader)


@pytest.mark.parametrize(
    "record",
    [
        {"kind": ["x"]},
        {"kind": {"a": 1}},
        {"kind": None},
        {},
        [],
        "contains",
        None,
        {"kind": "per-turn", "grader": {"kind": ["script"]}},
        {"kind": "script", "script": "\0"},
        {"kind": "agent-judge", "agent": {"agents": [1, 2]}},
        {"kind": "endpoint", "url": ["http://h"], "headers": 7},
        nested(3000),
    ],
    ids=lambda record: str(record)[:40] if len(record or "") != 2 else record["kind"],
)
@pytest.mark.parametrize("trust", [False, True])
def test_a_hostile_record_is_a_format_error(record, trust):
    """Whatever stands where a kind or a field should be."""
    with pytest.raises(FormatError):
        from_record(record, trust=trust)


def test_other_errors_of_ours_keep_their_words():
    """A script nobody can read says so, when its hash is to be trusted too."""
    with pytest.raises(FormatError, match=r"\Athe script contains a null character\n  next step: "):
        from_record({"kind": "script", "script": "\0"}, trust=True)


@pytest.mark.parametrize("error", [AttributeError("a"), KeyError("k"), OverflowError("o"), TypeError("t")])
def test_what_a_kind_of_ones_own_trips_over_is_a_format_error(error, monkeypatch):
    """A kind's own code may expect its fields to be as it wrote them."""

    class Trips(wb.Contains):
        @classmethod
        def build(cls, values):
            raise error

    monkeypatch.setitem(KINDS, "trips", Trips)
    with pytest.raises(FormatError, match="cannot be created from these fields"):
        from_record({"kind": "trips"})


@given(anything | spoiled(), st.booleans())
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
def test_any_json_is_a_grader_or_a_format_error(record, trust):
    """Nothing else comes out of any JSON, nor out of a good record with one field spoiled."""
    ends_well(record, trust=trust)


@pytest.mark.parametrize("trust", [False, True])
def test_an_endpoint_of_a_record_is_somebody_elses(trust):
    """It is imported, inside other graders too, whatever the record says; trust is bound to its url and headers."""
    mine = Endpoint(url="https://x.example/r", headers=SECRET)
    record = {**record_of(mine), "imported": False, "trusted_sha256": mine.trusted().trusted_sha256}
    read = from_record({"kind": "per-turn", "grader": record}, trust=trust)
    inner = list(parts(read))[1]
    assert (inner.imported, inner.trust, inner == mine) == (True, trust, True)
    assert record_of(inner) == record_of(mine)


def test_a_saved_endpoint_is_trusted_by_its_reader(tmp_path, monkeypatch):
    """A file's endpoint is sent no secret until the file is loaded with trust."""
    monkeypatch.setitem(os.environ, "AWS_SECRET_ACCESS_KEY", "topsecret")
    path = tmp_path / "graders.json"
    wb.save([Endpoint(url="https://x.example/r", headers=SECRET)], path)
    with pytest.raises(wb.errors.IsolationError, match="AWS_SECRET_ACCESS_KEY"):
        wb.load(path).entries[0].grader.check_ready()
    wb.load(path, trust=True).entries[0].grader.check_ready()
