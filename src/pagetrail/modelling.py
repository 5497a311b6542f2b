"""The models behind a library: check that they work, calibrate judges, forget replies.

Part of the composition root; reached as `Library.models`.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .config import load_settings
from .errors import NotFoundError, UsageError
from .index.changes import CatalogueWriter
from .index.lock import WriterLock
from .judge.calibrate import Calibration, Reliability, fit, raw_score, reliability
from .judging import load_chat, load_reranker, make_meter
from .models.check import check_model, check_reranker
from .types import page_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .config import Settings
    from .judge.calibrate import Kind, Scale
    from .judging import Judges
    from .library import Library
    from .models.budget import Usage
    from .models.check import ModelCheck

__all__ = ["Calibrated", "Labelled", "Models", "check_models"]


_PASSAGES = ("When was it built?", "The bridge was built in 1932.", "Dogs pay half the price.")


@dataclass(frozen=True)
class Labelled:
    """A question whose evidence is known.

    Attributes:
        document: The document that it is asked of; None for the whole library.
        pages: Numbers of the document's pages that hold the evidence; all others do not.
    """

    question: str
    document: str | None
    pages: frozenset[int]


@dataclass(frozen=True)
class Calibrated:
    """A judge's calibration and how well its probabilities hold.

    Attributes:
        judge: The judge.
        calibration: What was fitted on all labels, as the library keeps it.
        before: Reliability of the judge's own probabilities.
        after: Reliability after calibration, each question judged by a fit on the other folds.
        unjudged: Verdicts without a number, which took no part.
    """

    judge: str
    calibration: Calibration
    before: Reliability
    after: Reliability
    unjudged: int


def check_models(settings: Settings | None = None) -> dict[str, ModelCheck]:
    """Ask each configured model a tiny real question; chat models with and without a picture.

    Returns:
        Role (``judge``, ``chat``, ``reranker``) to what came of it; a model in both of the first
        two is asked once.

    Raises:
        UsageError: A spec makes no sense.
        MissingExtraError: A library that a model needs is not installed.
    """
    given = (settings or load_settings()).models
    specs = {role: getattr(given, role) for role in ("judge", "chat")}
    made: dict[str, ModelCheck] = {}
    for role, spec in specs.items():
        same = next((r for r in made if specs[r] == spec), None)
        if spec:
            made[role] = (
                made[same] if same else check_model(load_chat(spec, given, make_meter(given)))
            )
    if given.reranker:
        made["reranker"] = check_reranker(load_reranker(given), _PASSAGES)
    return made


@dataclass
class _Sample:
    """Verdicts of many questions, with what is known of their pages."""

    scores: list[float] = field(default_factory=list)
    own: list[float] = field(default_factory=list)
    labels: list[bool] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    scales: set[Scale] = field(default_factory=set)
    unjudged: int = 0

    def fit(self, kind: Kind, rows: Iterable[int]) -> Calibration:
        chosen = list(rows)
        (scale,) = self.scales
        return fit(
            kind, [self.scores[n] for n in chosen], [self.labels[n] for n in chosen], scale=scale
        )


class Models:
    """What can be done with a library's models.

    Args:
        library: The library.
        judges: Its judges.
    """

    def __init__(self, library: Library, judges: Judges) -> None:
        self._library = library
        self._judges = judges

    @property
    def usage(self) -> Usage:
        """What model calls have cost since the library was opened."""
        return self._judges.usage

    def forget(self, *, model: str | None = None, older_than: float | None = None) -> int:
        """Delete replies that were kept; returns how many.

        Args:
            model: Only those of this model, by its name.
            older_than: Only those made before so many seconds ago.
        """
        before = None if older_than is None else time.time() - older_than
        return self._judges.replies.purge(model=model, before=before)

    def calibrate(
        self,
        judge: str,
        questions: Iterable[Labelled],
        *,
        kind: Kind = "platt",
        pages: int = 10,
        recipe: str = "default",
        folds: int = 5,
        progress: Callable[[int, str], None] | None = None,
    ) -> Calibrated:
        """Fit how a judge's numbers become probabilities, and keep it with the library.

        The best pages of each question are judged; a page counts as evidence when the question
        says so. Questions of one document stay in one fold.

        Raises:
            UsageError: Too few labels, or all of one kind; pages of no document; fewer than two
                folds; a judge that takes no calibration.
            NotFoundError: No such judge, or its model is not named.
        """
        if folds < 2:
            raise UsageError(f"{folds} folds; at least 2 are needed to hold questions out")
        self._judges.calibration_key(judge)  # says what is wrong before anything is spent
        WriterLock(self._judges.folder.lock).release()  # and so does this
        sample = _Sample()
        for number, asked in enumerate(questions, 1):
            self._judge_one(judge, asked, pages, recipe, sample)
            if progress is not None:
                progress(number, asked.question)
        if len(sample.scales) > 1:
            kinds = " and ".join(sorted(sample.scales))
            raise UsageError(f"{judge} gave {kinds}; calibration needs numbers of one kind")
        if not sample.scores:
            raise UsageError(f"{judge} judged no page ({sample.unjudged} without a number)")
        fitted = sample.fit(kind, range(len(sample.scores)))
        held_out = _across(kind, sample, folds)
        self._keep(judge, fitted)
        return Calibrated(
            judge,
            fitted,
            reliability(sample.own, sample.labels),
            reliability(held_out, sample.labels),
            sample.unjudged,
        )

    def _judge_one(
        self, judge: str, asked: Labelled, pages: int, recipe: str, sample: _Sample
    ) -> None:
        scope = [asked.document] if asked.document else []
        if asked.pages and not asked.document:
            raise UsageError(f"{asked.question!r} has pages but no document to find them in")
        found = self._library.search(asked.question, documents=scope, limit=pages, pipeline=recipe)
        gold = set()
        if asked.document:
            name = self._library.document(asked.document).id
            gold = {page_id(name, n) for n in asked.pages}
        ids = [hit.page for hit in found.hits]
        for verdict in self._judges.judge(judge, found.query, ids, raw=True):
            number = raw_score(verdict)
            if number is None or verdict.probability is None:
                sample.unjudged += 1
                continue
            sample.scales.add(number[0])
            sample.scores.append(number[1])
            sample.own.append(verdict.probability)
            sample.labels.append(verdict.page in gold)
            sample.groups.append(asked.document or asked.question)

    def calibration(self, judge: str) -> Calibration:
        """Return a judge's calibration.

        Raises:
            NotFoundError: It has none.
        """
        found = self._judges.calibration(judge)
        if found is None:
            raise NotFoundError(f"the judge {judge} has no calibration in this library")
        return found

    def _keep(self, judge: str, calibration: Calibration) -> None:
        folder, key = self._judges.folder, self._judges.calibration_key(judge)
        lock = WriterLock(folder.lock)
        try:
            writer = CatalogueWriter(folder, lock)
            try:
                with writer.transaction():
                    writer.rows(
                        "INSERT OR REPLACE INTO calibrations VALUES (?, ?, ?)",
                        (key, int(time.time()), calibration.to_json()),
                    )
            finally:
                writer.close()
        finally:
            lock.release()
        self._judges.renew()


def _across(kind: Kind, sample: _Sample, folds: int) -> list[float]:
    """Return each score's probability by a fit on the other folds; groups stay together."""
    groups = list(dict.fromkeys(sample.groups))
    random.Random(0).shuffle(groups)  # files of questions are often sorted  # noqa: S311
    order = {group: n % folds for n, group in enumerate(groups)}
    made = [0.0] * len(sample.scores)
    for fold in range(min(folds, len(order))):
        test = [n for n, group in enumerate(sample.groups) if order[group] == fold]
        rest = [n for n, group in enumerate(sample.groups) if order[group] != fold]
        fitted = sample.fit(kind, rest)
        for n in test:
            made[n] = fitted.apply(sample.scores[n])
    return made
