"""As many pictures at a time as memory allows, on any device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import ModelError
from ..weights import first_line, is_out_of_memory, release_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Limits", "encode_in_batches"]


@dataclass(slots=True)
class Limits:
    """How much is encoded at a time; lowered when memory runs out.

    Attributes:
        most: Items at a time.
        budget: Cost at a time; one item may exceed it alone.
    """

    most: int
    budget: int


def encode_in_batches(
    items: Sequence[Any],
    costs: Sequence[int],
    encode: Callable[[list[Any]], Sequence[Any]],
    limits: Limits,
    *,
    what: str = "picture",
) -> list[Any]:
    """Return one result per item, in order, encoding as many at a time as memory allows.

    Items of like cost go together, the dearest first, so that little is spent on padding and what
    does not fit shows at once. A batch costs its dearest item times its count, because the others
    are padded to it. When the device runs out of memory the batch is halved, and the limits stay
    so for later calls.

    Args:
        items: What to encode.
        costs: Pixels or tokens of each.
        encode: Turns a batch into as many results.
        limits: How much at a time.
        what: Names an item in messages.

    Raises:
        ModelError: One item alone does not fit into memory; names it by index.
    """
    order = sorted(range(len(items)), key=lambda index: (-costs[index], index))
    results: list[Any] = [None] * len(items)
    start = 0
    while start < len(order):
        fitting = max(1, limits.budget // max(1, costs[order[start]]))
        batch = order[start : start + min(limits.most, fitting)]
        encoded, failure = _tried(encode, [items[index] for index in batch])
        if failure:
            release_memory()
            if len(batch) == 1:
                raise ModelError(
                    f"{what} {batch[0]} does not fit into the device's memory, even alone "
                    f"({failure}); ask for fewer pixels, a smaller dtype, or another device"
                )
            limits.most = len(batch) // 2
            limits.budget = limits.most * max(1, costs[order[start]])
            continue
        for index, result in zip(batch, encoded, strict=True):
            results[index] = result
        start += len(batch)
    return results


def _tried(
    encode: Callable[[list[Any]], Sequence[Any]], batch: list[Any]
) -> tuple[Sequence[Any], str]:
    """Return results, or in what words memory ran out.

    The error itself stays here: its traceback would hold on to the tensors of the batch.
    """
    try:
        return encode(batch), ""
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        return (), first_line(error)
