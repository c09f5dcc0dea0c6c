"""Shared by targets that pass a row as `inputs`, `outputs` and an expected value: dicts of anything."""

from __future__ import annotations

__all__ = ["RECORD_LINES"]

RECORD_LINES = '''

def _wb_first(record, names):
    """The value under the first of these names in the record, else the only value, else the record as JSON."""
    if not isinstance(record, dict):
        return record
    found = [record[name] for name in names if name in record] or (list(record.values()) if len(record) == 1 else [])
    return found[0] if found else record


def _wb_said(value):
    return value if isinstance(value, str) else _wb_json.dumps(value, ensure_ascii=False, default=str)


def _wb_record(inputs, outputs, expected):
    inputs = inputs if isinstance(inputs, dict) else {"prompt": inputs}
    expected = expected if isinstance(expected, dict) else {} if expected is None else {"reference": expected}
    asked = inputs.get("messages") or [
        {"role": "user", "content": _wb_said(_wb_first(inputs, ("prompt", "input", "question", "query", "user")))}
    ]
    answered = outputs.get("messages") if isinstance(outputs, dict) else None
    text = _wb_first(outputs, ("completion", "output", "response", "assistant", "answer", "content", "text"))
    if not answered and (text is None or text == {}):
        raise ValueError("there is no output")
    said = answered or [{"role": "assistant", "content": _wb_said(text)}]
    names = (*_WB_REFERENCE, "expected_response", "expected_output")
    reference = _wb_first(expected, names) if expected else None
    metadata = {key: value for key, value in {**inputs, **expected}.items() if key != "messages"}
    return _wb_thread_of([*asked, *said], _wb_with_reference(metadata, reference))
'''
