"""Recipes: whole systems, each a few lines of the pipeline algebra.

``fidelity`` chooses every value on which a paper, its published code and good sense disagree:
``paper`` as described, ``code`` as the code does, ``fixed`` as it should be.

The weights of `default` are round values set by hand near those that a grid search preferred on the
development questions (five folds by document); they are not the optimum of any one fold, and the
grid was looked at before they were set, so figures on those questions are somewhat flattering.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from .errors import NotFoundError, UsageError
from .retrieve.beam import Beam
from .retrieve.boost import Boost
from .retrieve.filter import Filter
from .retrieve.fuse import fuse
from .retrieve.keep import Keep
from .retrieve.pipeline import DEPTH, Pipeline, Search
from .retrieve.rescore import Rescore
from .retrieve.walk import Walk
from .retrieve.weigh import Weigh

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "bm25",
    "default",
    "dense",
    "m3docrag",
    "mdocagent",
    "molorag",
    "recipe",
    "recipes",
    "rerank",
    "single",
    "vl_rag",
    "vrag",
    "walk",
]

Fidelity = Literal["paper", "code", "fixed"]
Fusion = Literal["sum", "zscore", "rrf"]

_TRIO = ("clip", "siglip", "openclip")
_WHOLE = 10_000  # pages up to which a z-score or a rank is taken over all pages in scope


def default(keep: int = 50) -> Pipeline:
    """What is used with no model but the built-in one.

    Words (whole pages, best passage, pairs of neighbouring words, headings) and meaning, made
    comparable and added; then the documents that the question names and the places it points at.
    """
    found = fuse(
        Search("pages", trim=True),
        Search("blocks", trim=True),
        Search("phrases", trim=True),
        Search("headings", trim=True),
        Search("dense", trim=True),
        weights=(1, 0.5, 0.3, 0.2, 0.5),
    )
    named = Search("names", depth=5000)
    return found >> Boost(named, 4) >> Boost(Search("pointer"), 8) % keep


def bm25(keep: int = 50) -> Pipeline:
    """Words over whole pages alone, text layer or OCR: the baseline."""
    return Search("pages") % keep


def dense(keep: int = 50) -> Pipeline:
    """Meaning alone: the best passage of a page by the built-in text encoder."""
    return Search("dense") % keep


def single(channel: str, keep: int = 50) -> Pipeline:
    """One encoder alone, such as ``clip``: the text-image retrievers that V-RAG compares with."""
    return Search(channel) % keep


def vrag(
    keep: int = 5,
    *,
    fidelity: Fidelity = "fixed",
    encoders: Sequence[str] = _TRIO,
    fusion: Fusion | None = None,
    weights: Sequence[float] | None = None,
    filter: Literal["vote", "log_odds", "off"] | None = None,  # noqa: A002 (the paper's word)
    m: int | None = None,
) -> Pipeline:
    """V-RAG (arXiv 2411.16740): an ensemble of visual encoders, then a yes/no filter.

    =========  =====================================  ====  =====================================
    fidelity   ensemble                               m     filter
    =========  =====================================  ====  =====================================
    ``paper``  mean of the raw cosines                60    a strict yes passes, order as found
    ``code``   sum of the raw cosines, SigLIP's text  10    a reply that contains "yes" passes,
               not padded                                   order as found
    ``fixed``  sum of z-scores                        60    ranked by calibrated log-odds; pages
                                                            that could not be judged stay behind
    =========  =====================================  ====  =====================================

    When no page passes, all are kept and the step says ``outcome: no_candidate``.

    Args:
        keep: Pages handed on (the paper's k).
        fidelity: Where the values not given here come from.
        encoders: Channels of the ensemble: one, a pair, the trio, or any others.
        fusion: ``sum`` of raw cosines, ``zscore``, or ``rrf`` (reciprocal ranks).
        weights: One per encoder.
        filter: By ``vote``, by ``log_odds``, or ``off``.
        m: Pages handed to the filter.
    """
    _check("fidelity", fidelity, ("paper", "code", "fixed"))
    fixed = fidelity == "fixed"
    fusion = fusion or ("zscore" if fixed else "sum")
    kind = filter or ("log_odds" if fixed else "vote")
    if m is None:
        m = 10 if fidelity == "code" else 60
    _check("filter", kind, ("vote", "log_odds", "off"))
    found = _ensemble([_variant(name, fidelity) for name in encoders], fusion, weights, m)
    if kind == "off":
        return found % keep
    if kind == "log_odds":
        return found % m >> Filter("yes_no", order="probability") % keep
    judge = "yes_no?contains" if fidelity == "code" else "yes_no"
    return found % m >> Filter(judge, unjudged="drop") % keep


def vl_rag(
    keep: int = 5,
    *,
    encoders: Sequence[str] = ("siglip", "openclip"),
    text: str = "dense",
    judge: str = "yes_no",
    m: int = 10,
) -> Pipeline:
    """VL-RAG (arXiv 2606.25343): V-RAG without CLIP, with a stream of text, averaged, verified.

    Args:
        keep: Pages handed on.
        encoders: Visual channels.
        text: Channel of text; the paper uses BGE-large over OCR, here the built-in encoder stands
            in for it unless another one is named.
        judge: The verifier; ``off`` leaves it out.
        m: Pages verified.
    """
    found = _ensemble([*encoders, text], "sum", None, m)
    if judge == "off":
        return found % keep
    return found % m >> Filter(judge) % keep


def m3docrag(keep: int = 4, *, channel: str = "colpali", candidates: int | None = None) -> Pipeline:
    """M3DocRAG (arXiv 2411.04952): late interaction, top k; also the base of MoLoRAG.

    Args:
        keep: Pages handed on.
        channel: A channel of late interaction.
        candidates: Rank only so many pages that words and meaning found, instead of all.
    """
    if candidates is None:
        return Search(channel) % keep
    return default(candidates) >> Rescore(channel) % keep


def rerank(
    keep: int = 10, *, judge: str = "cross_encoder", m: int = 50, start: str = "default"
) -> Pipeline:
    """A recipe's best pages, put in a judge's order: the cheapest large gain where text exists.

    Args:
        keep: Pages handed on.
        judge: ``cross_encoder``, ``text``, ``yes_no`` or ``grade``.
        m: Pages judged.
        start: The recipe that finds them.
    """
    return recipe(start, keep=m) >> Filter(judge, threshold=0, order="probability") % keep


def molorag(
    keep: int = 3,
    *,
    fidelity: Fidelity = "fixed",
    mode: Literal["base", "logic", "full", "top", "graph"] = "graph",
    channel: str = "colpali",
    judge: str | None = None,
    width: int = 3,
    hops: int = 4,
    top: int = 10,
    alpha: float | None = None,
    floor: float | None = None,
    theta: float | None = None,
) -> Pipeline:
    """MoLoRAG (arXiv 2509.07666): a beam over the pages' similarity, graded by a chat model.

    What each fidelity chooses stands in docs/recipes.md.

    Args:
        keep: Pages handed on; fewer when the floor leaves fewer.
        fidelity: Where the values come from.
        mode: ``graph`` walks; ``logic`` walks and ranks by the judge alone; ``full`` judges every
            page; ``top`` the best ``top`` pages; ``base`` none: M3DocRAG.
        channel: A channel of vectors: ranks the pages and says which are alike.
        judge: As the fidelity says when not given.
        width: Pages of the beam.
        hops: Steps of the beam.
        top: Pages judged by ``mode=top``.
        alpha: Share of the search in a page's score; as the fidelity says when not given.
        floor: Pages judged below this score are dropped; as the fidelity says.
        theta: Least similarity of two pages that are joined; as the fidelity says.
    """
    _check("mode", mode, ("base", "logic", "full", "top", "graph"))
    given = {"judge": judge, "alpha": alpha, "floor": floor, "theta": theta}
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    stage = replace(_molorag_stage(fidelity, channel), **chosen)
    if mode == "base":
        return Search(channel) % keep
    found = Search(channel, depth=_WHOLE)
    if mode in ("full", "top"):
        number = top if mode == "top" else 0
        rest = (stage.alpha, stage.floor, stage.relevance)
        return found >> Weigh(stage.judge, number, *rest) % keep
    share = 0.0 if mode == "logic" else stage.alpha
    return found >> replace(stage, width=width, hops=hops, alpha=share) % keep


def _molorag_stage(fidelity: Fidelity, channel: str) -> Beam:
    """Return the walk of MoLoRAG as one version of it has it.

    =========  ===============================  ================  =====  ========================
    fidelity   two pages are joined by          search and judge  floor  judge
    =========  ===============================  ================  =====  ========================
    ``paper``  an inner product of .4 and more  .5 and .5         none   a grade from 1 to 5
    ``code``   being among the other's five     .4 and .6         .3     the first digit of the
               nearest, with a cosine of .8 and                          reply; 3 without any, 1
               more; documents of 4 pages up                             when the call fails
    ``fixed``  being among the other's five     .4 and .6         none   the grade's calibrated
               nearest and the best pairs that                           probability; what was not
               give a page six on average                                judged stays behind
    =========  ===============================  ================  =====  ========================
    """
    _check("fidelity", fidelity, ("paper", "code", "fixed"))
    paper, code, fixed = (fidelity == name for name in ("paper", "code", "fixed"))
    return Beam(
        "grade?molorag" if code else "grade",
        alpha=0.5 if paper else 0.4,
        floor=0.3 if code else 0.0,
        relevance="probability" if fixed else "grade",
        channel=channel,
        k=None if paper else 5,
        theta={"paper": 0.4, "code": 0.8, "fixed": None}[fidelity],
        degree=6.0 if fixed else None,
        measure="product" if paper else "cosine",
        least=4 if code else 1,
        rest="keep" if fixed else "drop",
    )


def mdocagent(keep: int = 8, *, text: str = "dense", image: str = "colpali") -> Pipeline:
    """What MDocAgent hands to its agents: the best pages of one text and one image retriever.

    Half of the pages come from either, in turn; a page that both find stands before those of one.

    Args:
        keep: Pages handed on.
        text: Channel of text; the system uses ColBERT over the text of the pages.
        image: Channel of late interaction over pictures of pages.
    """
    half = max(1, (keep + 1) // 2)
    pair = (Search(text, depth=half), Search(image, depth=half))
    return fuse(*pair, method="rrf") % keep


def walk(
    keep: int = 10,
    *,
    start: str = "default",
    judge: str = "grade",
    budget: int = 20,
    share: float = 1.0,
    batch: int = 4,
    least: float = 0.0,
    enough: float = 0.0,
    trust: float | None = None,
    by: Literal["fixed", "mass", "mixture"] = "fixed",
) -> Pipeline:
    """Judge the likeliest pages first, along ranking and page graph, within a budget.

    Args:
        keep: Pages handed on, or the most of them when ``by`` is not ``fixed``.
        start: The recipe that finds the first pages.
        judge: ``grade``, ``yes_no``, ``cross_encoder`` or ``text``.
        budget: Most pages judged.
        share: Most pages judged, as a share of those in scope.
        batch: Pages judged at a time.
        least: Stop when no page is left whose chance reaches this.
        enough: Stop when evidence for so many pages was found; 0: never.
        trust: Weight of a verdict beside the walk's expectation; 2, and 1 for the judge ``text``.
        by: How many pages are handed on: a ``fixed`` number, until they hold nine tenths of the
            probability (``mass``), or those that stand out (``mixture``).
    """
    _check("by", by, ("fixed", "mass", "mixture"))
    weight = trusted(judge) if trust is None else trust
    stage = Walk(judge, budget, share, batch, least, enough, weight)
    found = recipe(start, keep=DEPTH) >> stage
    return found % keep if by == "fixed" else found >> Keep(by, most=keep)


def trusted(judge: str) -> float:
    """Return the weight of a judge's verdicts in a walk; the built-in one knows little more than
    the search itself."""
    return 1.0 if judge == "text" else 2.0


def _ensemble(
    channels: Sequence[str], fusion: Fusion, weights: Sequence[float] | None, m: int
) -> Pipeline:
    _check("fusion", fusion, ("sum", "zscore", "rrf"))
    if not channels:
        raise UsageError("an ensemble needs at least one encoder")
    # A sum over vectors is exact at any depth; ranks and deviations need all pages.
    plain = fusion == "sum" or len(channels) == 1
    depth = max(DEPTH, m) if plain else max(_WHOLE, m)
    searches = [Search(channel, depth=depth) for channel in channels]
    if len(searches) == 1:
        return searches[0]
    return fuse(*searches, method=fusion, weights=weights)


def _variant(channel: str, fidelity: Fidelity) -> str:
    return f"{channel}?unpadded" if fidelity == "code" and channel == "siglip" else channel


def _check(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise UsageError(f"{name} is one of {', '.join(known)}, not {value!r}")


_RECIPES: dict[str, Callable[..., Pipeline]] = {
    "bm25": bm25,
    "default": default,
    "dense": dense,
    "m3docrag": m3docrag,
    "mdocagent": mdocagent,
    "molorag": molorag,
    "rerank": rerank,
    "single": single,
    "vl_rag": vl_rag,
    "vrag": vrag,
    "walk": walk,
}


def recipes() -> tuple[str, ...]:
    """Return the names of all recipes."""
    return tuple(_RECIPES)


def recipe(text: str, keep: int | None = None, **options: Any) -> Pipeline:
    """Return a recipe by name, with options in the text or as arguments.

    ``recipe("vrag:fidelity=code,encoders=clip+siglip", m=20)``: after the name options follow as
    ``name=value``, lists joined by ``+``.

    Args:
        text: Name, and options.
        keep: Pages that the recipe hands on; each has its own default.
        options: More options of the recipe's function.

    Raises:
        NotFoundError: There is no such recipe.
        UsageError: It has no such option, or cannot take the value.
    """
    name, _, rest = text.partition(":")
    if name not in _RECIPES:
        raise NotFoundError(f"no recipe {name!r}; there are {', '.join(_RECIPES)}")
    make = _RECIPES[name]
    known = inspect.signature(make).parameters
    given = dict(options) if keep is None else {"keep": keep, **options}
    for item in (part for part in rest.split(",") if part.strip()):
        option, equals, value = item.partition("=")
        if not equals:
            raise UsageError(f"recipe {name}: {item!r} is not written as option=value")
        given[option.strip()] = value.strip()
    for option in given:
        if option not in known:
            raise UsageError(f"recipe {name} has no option {option!r}; it has {', '.join(known)}")
    values = {o: _read(name, o, v, str(known[o].annotation)) for o, v in given.items()}
    missing = [p.name for p in known.values() if p.default is p.empty and p.name not in values]
    if missing:
        raise UsageError(f"recipe {name} needs {missing[0]}: {name}:{missing[0]}=...")
    return make(**values)


def _read(name: str, option: str, value: Any, annotation: str) -> Any:
    """Return an option's value; text becomes what the recipe's function expects."""
    if not isinstance(value, str):
        return value
    try:
        if annotation.startswith("int"):
            return int(value)
        if annotation.startswith("float"):
            return float(value)
        if "Sequence[float]" in annotation:
            return tuple(float(v) for v in value.split("+"))
    except ValueError as error:
        raise UsageError(f"recipe {name}: {option}={value!r} is not a number") from error
    return tuple(value.split("+")) if "Sequence[str]" in annotation else value
