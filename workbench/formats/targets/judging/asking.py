"""How an exported file calls a judge's model: any server with OpenAI's chat protocol, using only the standard library.

The workbench calls only `_wb_messages`, to check the prompts. The functions passed as `rules` are copied from
workbench modules: see `judging/texts.py`.
"""
# mypy: ignore-errors

from __future__ import annotations

import asyncio as _wb_asyncio
import http.client as _wb_http
import json as _wb_json
import os as _wb_os
import re as _wb_re
import socket as _wb_socket
import ssl as _wb_ssl
import time as _wb_time
import urllib.error as _wb_url_errors
import urllib.parse as _wb_url_parts
import urllib.request as _wb_url
import weakref as _wb_weakref
from concurrent.futures import ThreadPoolExecutor as _wb_Pool
from types import SimpleNamespace as _wb_Record

from workbench.formats.targets.runtime import _WB_MORE_REFERENCES, _WB_REFERENCE, _wb_Grade

_WB_AT_ONCE = 16  # requests in flight on one event loop
_WB_MOST_BYTES = 4 * 2**20  # of a reply
_WB_PATIENCE = 300.0  # seconds to wait in total for an overloaded server
_WB_LOCAL = ("localhost", "127.0.0.1", "::1")
_wb_pool = _wb_Pool(2 * _WB_AT_ONCE, "judge")
_wb_turns_by_loop = _wb_weakref.WeakKeyDictionary()
_wb_reached = set()


class _wb_ErrorKind:
    """The reasons for a missing score."""

    JUDGE_PARSE, JUDGE_CUT, JUDGE_REFUSAL = "judge_parse", "judge_cut", "judge_refusal"
    JUDGE_TOO_LONG = "judge_too_long"
    OUT_OF_RANGE, NOT_FINITE = "out_of_range", "not_finite"


class _wb_TooLarge(ValueError):
    """A reply has more bytes than are read."""


class _wb_NoAnswer(Exception):
    """The request could not be sent, or got no reply."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


async def _wb_judged(rules, thread, **judge):
    """A judge's grade of one row: sends the prompt, reads the reply, and repeats the request once if it is malformed."""
    judge = _wb_Record(**judge)
    sample = _wb_Record(
        thread=thread, reference=rules.reading.reference_of(thread, (*_WB_REFERENCE, *_WB_MORE_REFERENCES))
    )
    try:
        messages = _wb_messages(rules.reading, judge, sample)
        return _wb_clean(rules.asking, judge, await _wb_verdict(rules, judge, sample, messages))
    except (rules.reading.AnswerError, _wb_NoAnswer) as error:
        return _wb_clean(rules.asking, judge, _wb_Grade.failed(error.kind, str(error)))
    except rules.reading.SampleError as error:
        return _wb_Grade.failed("sample", str(error))


def _wb_clean(asking, judge, grade):
    """The grade without the key: a server may echo it in an escaped form, which parsing the reply decodes."""
    keys = [_wb_os.environ.get(judge.key_variable, "").strip()]
    hidden = {name: asking.hide_secrets_in_data(value, keys) for name, value in vars(grade).items()}
    return grade if hidden == vars(grade) else _wb_Grade(**hidden)


async def _wb_verdict(rules, judge, sample, messages):
    reply = await _wb_reply(rules.asking, judge, messages)
    try:
        return _wb_read(rules.reading, judge, sample, messages, reply)
    except rules.reading.AnswerError as error:
        if error.kind != "judge_parse" or not judge.repairs:
            raise
        said = {"role": "assistant", "content": reply.text}
        again = [*messages, said, {"role": "user", "content": rules.reading._repair_request(error)}]
    reply = await _wb_reply(rules.asking, judge, again)
    return _wb_read(rules.reading, judge, sample, messages, reply)


def _wb_read(reading, judge, sample, messages, reply):
    text = reading.without_quotes(reading.answer_text(reply, judge.fields["platform"]), sample, messages)
    return getattr(reading, f"{judge.kind}_read")(_wb_Record(**judge.fields), text)


def _wb_messages(reading, judge, sample):
    """The prompt for a row: each placeholder is filled once."""
    name, config = judge.extractor
    if judge.kind == "binary_judge":
        own = _wb_Record(extractor=_wb_Record(name=name))
        reading.binary_judge_check_turns(own, sample.thread)
    values = {slot: getattr(reading, f"slot_{slot}")(sample) for slot in judge.slots}
    values["completion"] = getattr(reading, name)(sample.thread, **config)
    values.update({f"column.{column}": reading.column_text(sample, column) for column in judge.columns})
    values["mark"] = reading.tag_mark({slot: values[slot] for slot in judge.material})
    key = " ".join(slot for slot in judge.varies if values[slot])
    texts = [(role, text[key] if isinstance(text, dict) else text) for role, text in judge.messages]
    return [{"role": role, "content": _wb_filled(text, values)} for role, text in texts]


def _wb_filled(text, values):
    return _wb_re.sub(r"<<([\w.]+)>>", lambda place: values.get(place[1], place[0]), text)


async def _wb_reply(asking, judge, messages):
    """The model's reply; the request is retried if that may help, in a simpler reply format if necessary.

    Raises:
        _wb_NoAnswer: There is no reply, with the reason.
    """
    server = _wb_server(judge)
    wanted = {"messages": asking._sendable(messages), **judge.request}
    capabilities = asking.capabilities_of(server.address, judge.request["model"])
    tries = _wb_Record(refused=set(), doubtful=set(), failed=set(), retries=0, waits=0, ends=None)
    while True:
        sent = capabilities.adapt(wanted, tries.refused)
        async with _wb_turn():
            reply, fault = await _wb_sent(asking, server, sent, judge.timeout)
        if fault is None:
            capabilities.record_answer(sent, wanted, tries.doubtful)
            return reply
        if not _wb_learned(asking, capabilities, fault, sent, tries):
            capabilities.retest_soon(sent)
            wait = _wb_wait(asking, server, fault, tries, judge.max_retries)
            if wait is None:
                raise _wb_NoAnswer(fault.kind, fault.message)
            await _wb_asyncio.sleep(wait)


def _wb_server(judge):
    """The server's address and key: both are read from the environment for every request."""
    own = _wb_os.environ.get("OPENAI_BASE_URL", "").strip() if judge.address_variable else ""
    address = (own or judge.address).rstrip("/")
    key = _wb_os.environ.get(judge.key_variable, "").strip()
    parts = _wb_url_parts.urlsplit(address)
    if parts.scheme not in ("http", "https") or parts.username or parts.password or parts.query:
        raise _wb_NoAnswer("judge_unreachable", "OPENAI_BASE_URL must be a plain http or https address")
    if not key and parts.hostname not in _WB_LOCAL:
        message = f"a judge needs a key for its model: set the environment variable {judge.key_variable}"
        raise _wb_NoAnswer("judge_key", message)
    if not (key.isascii() and key.isprintable()):
        raise _wb_NoAnswer(
            "judge_key", f"the key in {judge.key_variable} contains characters that no key has"
        )
    return _wb_Record(address=address, key=key, key_variable=judge.key_variable)


def _wb_turn():
    """The semaphore for requests in flight on this event loop."""
    loop = _wb_asyncio.get_running_loop()
    if loop not in _wb_turns_by_loop:
        _wb_turns_by_loop[loop] = _wb_asyncio.Semaphore(_WB_AT_ONCE)
    return _wb_turns_by_loop[loop]


async def _wb_sent(asking, server, body, timeout):
    """One request: a reply and None, or None and the fault."""
    loop = _wb_asyncio.get_running_loop()
    data = _wb_json.dumps(body).encode()
    try:
        posted = loop.run_in_executor(_wb_pool, _wb_post, server, data, timeout)
        status, headers, answer = await _wb_asyncio.wait_for(posted, timeout)
    except (TimeoutError, OSError, _wb_http.HTTPException, ValueError) as error:
        return None, _wb_connection_fault(asking, server, error)
    _wb_reached.add(server.address)
    if status != 200:
        return None, _wb_status_fault(asking, server, status, headers, answer)
    return _wb_completion(asking, server, headers, answer)


class _wb_NoRedirects(_wb_url.HTTPRedirectHandler):
    """A redirect would send the key and the rows to an address that the user did not configure."""

    def redirect_request(self, *_):
        return None


def _wb_post(server, data, timeout):
    """The status, headers and body of a response; runs in a worker thread."""
    ends = _wb_time.monotonic() + timeout
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    headers = {**headers, **({"Authorization": f"Bearer {server.key}"} if server.key else {})}
    request = _wb_url.Request(f"{server.address}/chat/completions", data, headers)
    try:
        response = _wb_url.build_opener(_wb_NoRedirects).open(request, timeout=timeout)
    except _wb_url_errors.HTTPError as refused:
        response = refused
    with response:
        return response.status, response.headers, _wb_body(response, ends)


def _wb_body(response, ends):
    parts, size = [], 0
    while part := response.read1(65536):
        parts.append(part)
        size += len(part)
        if size > _WB_MOST_BYTES:
            raise _wb_TooLarge(f"more than {_WB_MOST_BYTES:,} bytes")
        if _wb_time.monotonic() > ends:
            raise TimeoutError
    length = response.headers.get("Content-Length", "")
    if length.isdecimal() and size < int(length):
        raise ConnectionError("the reply was truncated")
    return b"".join(parts)


def _wb_fault(kind, message, **more):
    plain = {"retry": False, "overloaded": False, "retry_after": None, "status": 0, "said": ""}
    return _wb_Record(**{"kind": kind, "message": message, **plain, **more})


def _wb_connection_fault(asking, server, error):
    """The fault for a request that got no response."""
    error = error.reason if isinstance(getattr(error, "reason", None), Exception) else error
    found = asking.hide_secrets(f"{type(error).__name__}: {error}", [server.key])[:500]
    if isinstance(error, _wb_TooLarge):
        return _wb_fault("judge_too_long", f"the judge's reply is too large: {error}")
    if isinstance(error, (TimeoutError, _wb_asyncio.TimeoutError)):
        return _wb_fault("timeout", "the judge's request timed out", retry=True)
    if isinstance(error, (_wb_socket.gaierror, _wb_ssl.SSLCertVerificationError)):
        return _wb_fault("judge_unreachable", f"the judge's server cannot be reached: {found}")
    if isinstance(error, ConnectionRefusedError):
        return _wb_fault(
            "judge_unreachable", f"no server listens at the judge's address: {found}", retry=True
        )
    retry = not isinstance(error, ValueError)
    return _wb_fault("judge_server", f"the judge's server sent no complete reply: {found}", retry=retry)


def _wb_status_fault(asking, server, status, headers, answer):
    """The fault for a response with an error status."""
    body = _wb_parsed(answer)
    error = body.get("error") if isinstance(body, dict) else None
    error = error if isinstance(error, dict) else body if isinstance(body, dict) else {}
    plain = " ".join(_wb_re.sub(r"<[^>]*>", " ", answer.decode("utf-8", "replace")).split())[:300]
    said = asking.hide_secrets(str(error.get("message") or plain), [server.key])[:500]
    return _wb_refusal(asking, server, status, str(error.get("code") or ""), said, headers)


def _wb_refusal(asking, server, status, code, said, headers):
    found = f"status {status}: {said}"
    no_credit = code == "insufficient_quota" or "exceeded your current quota" in said
    if status == 401:
        return _wb_fault("judge_key", f"the judge's server refused the key in {server.key_variable}: {found}")
    if status == 404:
        return _wb_fault("judge_unreachable", f"the judge's server has no such model or address: {found}")
    if status == 402 or (status == 429 and no_credit):
        return _wb_fault("judge_key", f"the judge's account has no credit: {found}")
    overloaded = status in asking._OVERLOADED
    retry = overloaded or status in asking._TRANSIENT
    return _wb_fault(
        "judge_limit" if overloaded else "judge_server", f"the judge's server sent no reply: {found}", retry=retry,
        overloaded=overloaded, retry_after=asking.retry_after(headers) if retry else None, status=status, said=said,
    )  # fmt: skip


def _wb_parsed(answer):
    try:
        return _wb_json.loads(answer)
    except (ValueError, RecursionError):
        return None


def _wb_completion(asking, server, headers, answer):
    """The first choice of a chat completion: a reply and None, or None and the fault."""
    body = _wb_parsed(answer)
    choices = body.get("choices") if isinstance(body, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        return None, _wb_no_completion(asking, server, headers, body)
    fields = {name: value for name, value in message.items() if value is not None}
    fields = asking.hide_secrets_in_reply(fields, [server.key])
    ended = str(choice.get("finish_reason") or "")
    filtered = "the content filter stopped the reply" if ended == "content_filter" else ""
    refusal = str(fields.get("refusal") or asking._joined_parts(fields.get("content"), "refusal") or filtered)
    calls = fields.get("tool_calls")
    calls = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    text = asking._text(fields.get("content"))
    return _wb_Record(text=text, refusal=refusal, finish_reason=ended, tool_calls=calls), None


def _wb_no_completion(asking, server, headers, body):
    error = body.get("error") if isinstance(body, dict) else None
    error = error if isinstance(error, dict) else {}
    said = asking.hide_secrets(str(error.get("message") or ""), [server.key])[:500]
    if isinstance(error.get("code"), int) and 400 <= error["code"] < 600:
        return _wb_refusal(asking, server, error["code"], "", said, {})
    is_json = isinstance(body, dict) or "json" in headers.get("Content-Type", "")
    kind = "judge_server" if is_json else "judge_unreachable"
    return _wb_fault(kind, f"the judge's server sent something other than a chat completion {said}".strip())


def _wb_learned(asking, capabilities, fault, sent, tries):
    """Whether an error reply shows how to change the request."""
    if fault.retry_after is not None:
        return False
    index = asking.format_index(sent)
    repeated = index in tries.failed
    lesson = capabilities.learn_from_refusal(fault.status, fault.said, sent, repeated=repeated)
    (tries.refused if lesson == "simpler" else tries.failed).add(index)
    if lesson == "simpler" and asking.is_server_failure(fault.status):
        tries.doubtful.add(index)
    return bool(lesson)


def _wb_wait(asking, server, fault, tries, max_retries):
    """Seconds until the next try; None to stop. Overload is retried until a deadline, other faults up to a count."""
    if not fault.retry or not max_retries:
        return None
    now = _wb_time.monotonic()
    tries.ends = tries.ends or now + _WB_PATIENCE
    tries.waits += 1
    own = asking._backoff(0.1 if fault.overloaded else 0.5, tries.waits)
    wait = own if fault.retry_after is None else max(fault.retry_after, 0.05)
    tries.retries += not fault.overloaded
    most = max_retries if server.address in _wb_reached else min(max_retries, 2)
    return None if tries.retries > most or now + wait > tries.ends else wait


async def _wb_together(rows):
    """All rows concurrently: each waits for its replies; the number of requests in flight is limited."""
    return list(await _wb_asyncio.gather(*rows))
