"""What is true of every registered reader of files."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.core.errors import SamplesError
from workbench.data.samples.file_types import READERS


def content(suffix):
    """The example of a reader."""
    example = READERS[suffix].example
    return example() if callable(example) else example


@pytest.mark.filterwarnings("ignore::workbench.core.errors.SamplesWarning")
@pytest.mark.parametrize("suffix", READERS)
class TestEveryReader:
    """Each reader by its suffix."""

    def test_its_example_is_read(self, suffix, tmp_path):
        """The example has rows with a completion, also under a suffix in capitals."""
        for name in (f"x{suffix}", f"X{suffix.upper()}"):
            (tmp_path / name).write_bytes(content(suffix))
            samples = wb.read_samples(tmp_path / name)
            assert len(samples) >= 1
            assert samples[0].thread.completion()

    @pytest.mark.parametrize("damage", ["empty", "cut", "bytes"])
    def test_a_damaged_file_is_named(self, suffix, damage, tmp_path):
        """A damaged file gives rows or a `SamplesError` that names it, never another exception."""
        whole = content(suffix)
        damaged = {"empty": b"", "cut": whole[: len(whole) // 2], "bytes": bytes(range(256))}[damage]
        path = tmp_path / f"x{suffix}"
        path.write_bytes(damaged)
        try:
            samples = wb.read_samples(path)
        except SamplesError as error:
            where = error.where
        else:
            where = str(path) if damage != "bytes" and len(samples) <= 1 else ""
        assert str(path) in where

    def test_an_unknown_suffix_lists_it(self, suffix, tmp_path):
        """The error about another suffix lists every reader."""
        path = tmp_path / "x.unknown"
        path.write_text("", "utf-8")
        with pytest.raises(SamplesError) as caught:
            wb.read_samples(path)
        assert suffix in caught.value.expected
