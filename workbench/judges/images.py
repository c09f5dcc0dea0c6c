"""Images of a row as content parts of a judge's request."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

from workbench.data.samples import Sample
from workbench.judges.protocol import Messages, SampleError

IMAGE_TOKENS = 50_000
"""Most tokens of one image, for reservations: gpt-4o-mini counts 2,833 + 5,667 for each of at most 8 tiles = 48,169, more than
any other model of 2026. Source: OpenAI's guide to images."""
TYPICAL_IMAGE_CHARACTERS = 4_500
"""Length of a text with the tokens of a typical image, about 1,500. Workbench default, for estimates before the first reply."""
_MAX_IMAGES = 100
"""Maximum images of a row. Workbench limit."""
_MARKER = "[image]"
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_ADDRESS = re.compile(r"https?://\S+\Z|data:image/[\w.+-]+;base64,[A-Za-z0-9+/=\s]+\Z", re.IGNORECASE)


def with_images(messages: Messages, sample: Sample, column: str) -> Messages:
    """The messages with the row's images after the text of the last one.

    Args:
        messages: A request.
        sample: The row.
        column: The column with its images; "" for none.

    Raises:
        SampleError: The row lacks the column, or contains something that is not an image.
    """
    if not column or not messages or isinstance(messages[-1]["content"], list):
        return messages  # `preview` may return a request of `questions`, which has them already
    parts = image_parts(sample, column)
    if not parts:
        return messages
    last = messages[-1]
    return [*messages[:-1], {**last, "content": [{"type": "text", "text": last["content"]}, *parts]}]


def image_parts(sample: Sample, column: str) -> list[dict[str, Any]]:
    """The row's images as content parts in OpenAI's form; none if its cell is empty.

    Raises:
        SampleError: As `with_images`.
    """
    metadata = sample.thread.metadata or {}
    if column not in metadata:
        # Only rows of messages get the column without having it, and only those with images.
        if column == "images" and not any(_MARKER in turn.content for turn in sample.thread.get_turns()):
            return []
        names = ", ".join(map(repr, metadata)) or "none"
        raise SampleError(f"the row has no images in {column!r}; its columns are: {names}"[:400])
    cell = metadata[column]
    images = cell if isinstance(cell, list | tuple) else [] if cell is None or cell == "" else [cell]
    if len(images) > _MAX_IMAGES:
        raise SampleError(f"the row has {len(images):,} images; at most {_MAX_IMAGES} are sent")
    return [_part(image, f"{column!r}, image {at}") for at, image in enumerate(images)]


def _part(image: Any, where: str) -> dict[str, Any]:
    details: dict[str, Any] = {}
    if isinstance(image, Mapping):
        inner = image.get("image_url", image)
        holder = inner if isinstance(inner, Mapping) else {"url": inner}
        details = {"detail": holder["detail"]} if holder.get("detail") in ("low", "high", "auto") else {}
        image = holder.get("bytes") or holder.get("url")
    if isinstance(image, bytes):
        image = f"data:{_media_type(image, where)};base64,{base64.b64encode(image).decode()}"
    if not isinstance(image, str) or not _ADDRESS.match(image.strip()):
        raise SampleError(
            f"{where} is not an image: found {str(image)[:60]!r}, expected an https address, a data URI "
            "(data:image/png;base64,...), the bytes of a PNG, JPEG, GIF or WebP file, or a part of a message"
        )
    return {"type": "image_url", "image_url": {"url": image.strip(), **details}}


def _media_type(data: bytes, where: str) -> str:
    for signature, media_type in _SIGNATURES:
        if data.startswith(signature):
            return media_type
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    raise SampleError(
        f"{where} is not an image: {len(data):,} bytes without the signature of a PNG, JPEG, GIF or WebP file"
    )


def without_images(messages: Messages) -> tuple[Messages, int]:
    """The messages with a short mark for each image, and the number of images: their length in bytes is not their cost."""
    if not any(isinstance(message.get("content"), list) for message in messages):
        return messages, 0
    count, plain = 0, []
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            texts = [part for part in content if part.get("type") != "image_url"]
            count += len(content) - len(texts)
            message = {**message, "content": texts}  # noqa: PLW2901 (a copy without its images)
        plain.append(message)
    return plain, count
