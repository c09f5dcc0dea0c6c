"""slime's remote reward model, asked as `remote_rm` of slime 624b824 asks: aiohttp, the same body, `raise_for_status`."""

import asyncio

import aiohttp
import pytest


async def remote_rm(url, prompt, response, label):
    """The request of `slime.rollout.rm_hub.remote_rm`, one attempt of its ten."""
    payload = {"prompt": prompt, "response": response, "label": label}
    session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=120))
    async with session, session.post(url, json=payload) as resp:
        resp.raise_for_status()
        return await resp.json()


def asked(server, *sample):
    return asyncio.run(remote_rm(f"{server.url}/slime", *sample))


def test_a_number_comes_back(server):
    """The label is the reference, under the names that graders look for."""
    assert asked(server, "q", "Paris", "Paris") == 1.0
    assert asked(server, "q", "Rome", "Paris") == 0.0
    assert type(asked(server, "q", "Paris", "Paris")) is float


def test_a_prompt_may_be_messages(server):
    """Where no chat template was applied, slime's prompt is a list of messages."""
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]
    assert asked(server, messages, "4", None) == 1.0


def test_no_score_is_an_error_of_slimes_client(server):
    """What slime would take for a reward never comes: its client raises."""
    with pytest.raises(aiohttp.ClientResponseError) as raised:
        asked(server, "q", "boom", None)
    assert raised.value.status == 422
