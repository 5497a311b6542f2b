"""Where the patches are: among a late-interaction model's tokens, and on the page.

The processors of these models have no common interface for it; what differs between the families is
kept here.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import ModelError, UsageError
from .grids import merged_grid, square_grid, tiled_grid

if TYPE_CHECKING:
    from ..types import Grid
    from .spec import Spec

__all__ = ["Places", "Seen", "keep_positions"]

_TILE = re.compile(r"<row_(\d+)_col_(\d+)>")


@dataclass(frozen=True, slots=True)
class Seen:
    """What a model made of one picture: rows of any length, and where they lie."""

    rows: Any
    grid: Grid | None


class Places:
    """Finds the patches among a model's tokens, and lays them on the page.

    Args:
        processor: The model's own; it is told how many pixels to look at.
    """

    def __init__(self, spec: Spec, processor: Any) -> None:
        self._processor = processor
        self._images: Any = getattr(processor, "image_processor", None)
        tokenizer = getattr(processor, "tokenizer", None)
        token = getattr(processor, "image_token", None) or getattr(tokenizer, "image_token", None)
        if self._images is None or tokenizer is None or token is None:
            raise ModelError(f"{spec}: its processor knows no pictures, only text")
        self._tokenizer = tokenizer
        self.patch_id = int(tokenizer.convert_tokens_to_ids(str(token)))
        self._merge = int(getattr(self._images, "merge_size", 0) or 0)
        self._tiled = bool(getattr(self._images, "do_image_splitting", False))
        self.pixels = self._limit(spec, spec.number("pixels"))

    def _limit(self, spec: Spec, asked: int | None) -> int:
        size = dict(self._images.size)
        if self._merge:  # longest and shortest "edge" are numbers of pixels in this family
            if asked:
                size["longest_edge"] = asked
                size["shortest_edge"] = min(int(size["shortest_edge"]), asked)
                self._images.size = size
            return int(size["longest_edge"])
        if asked:
            raise UsageError(
                f"{spec}: this model looks at a fixed number of pixels; leave pixels out"
            )
        if "longest_edge" in size:
            return int(size["longest_edge"]) ** 2
        return int(size["height"]) * int(size["width"])

    def seen(self, rows: Any, ids: Any, mask: Any, shape: Any) -> Seen:
        """Return the patches' rows of one picture, and their grid.

        Args:
            rows: Tensor ``[tokens, d]``.
            ids: Tensor ``[tokens]``.
            mask: Tensor ``[tokens]``, true where a token counts.
            shape: ``image_grid_thw`` of the picture, or None.
        """
        kept = (ids == self.patch_id) & mask.bool()
        count = int(kept.sum())
        if self._merge and shape is not None:
            grid = merged_grid(shape.tolist(), self._merge, count)
        elif self._tiled:
            grid = tiled_grid(*self._tiles(ids.tolist()), count)
        else:
            grid = square_grid(count)
        return Seen(rows[kept], grid)

    def _tiles(self, ids: list[int]) -> tuple[int, int]:
        names = self._tokenizer.convert_ids_to_tokens(sorted(set(ids) - {self.patch_id}))
        places = [tuple(map(int, found.groups())) for n in names if (found := _TILE.fullmatch(n))]
        return max((p[0] for p in places), default=0), max((p[1] for p in places), default=0)


def keep_positions(model: Any, patch_id: int) -> None:
    """Give Qwen2-VL's rotary embedding the rows and columns of patches, as in training.

    transformers 5 hides the token ids from the language model inside ColQwen2, which then numbers
    all patches one after another, as if they stood in one line.
    """
    find = getattr(getattr(model, "vlm", None), "get_rope_index", None)
    if find is None:
        return
    wanted = find.__code__.co_varnames[: find.__code__.co_argcount]
    forward = model.forward

    # Not a hook: sentence-transformers calls forward itself, past all hooks.
    @functools.wraps(forward)
    def placed_forward(*args: Any, **given: Any) -> Any:
        if given.get("image_grid_thw") is not None and given.get("position_ids") is None:
            ids = given["input_ids"]
            types = {"mm_token_type_ids": (ids == patch_id).to(ids.dtype)}
            given["position_ids"], _ = find(
                input_ids=ids,
                image_grid_thw=given["image_grid_thw"],
                attention_mask=given["attention_mask"],
                **{name: value for name, value in types.items() if name in wanted},
            )
        return forward(*args, **given)

    model.forward = placed_forward
