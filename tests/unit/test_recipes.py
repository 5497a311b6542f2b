"""Recipes are values that can be kept and read back; what they say is what was published."""

from __future__ import annotations

import pytest

from pagetrail.errors import NotFoundError, UsageError
from pagetrail.recipes import recipe, recipes, vrag
from pagetrail.retrieve.value import from_json, to_json
from pagetrail.retrieve.walk import Walk

NEEDS = {"single": ":channel=clip"}


@pytest.mark.parametrize("name", recipes())
def test_recipes_can_be_kept_as_json(name):
    value = recipe(name + NEEDS.get(name, ""), 7)
    assert from_json(to_json(value)) == value
    assert value.explain().endswith("keep the best 7")


def test_an_unknown_recipe_names_the_known():
    with pytest.raises(NotFoundError, match="default"):
        recipe("magic")


_PAPER = 'fuse(Search("clip"), Search("siglip"), Search("openclip"), method="sum")'
_CODE = 'fuse(Search("clip"), Search("siglip?unpadded"), Search("openclip"), method="sum")'
_WHOLE = "depth=10000"
_FIXED = f'fuse(Search("clip", {_WHOLE}), Search("siglip", {_WHOLE}), Search("openclip", {_WHOLE}))'


@pytest.mark.parametrize(
    ("fidelity", "written"),
    [
        ("paper", f'(({_PAPER} % 60 >> Filter("yes_no", unjudged="drop")) % 5)'),
        ("code", f'(({_CODE} % 10 >> Filter("yes_no?contains", unjudged="drop")) % 5)'),
        ("fixed", f'(({_FIXED} % 60 >> Filter("yes_no", order="probability")) % 5)'),
    ],
)
def test_vrag_says_how_it_follows_its_source(fidelity, written):
    assert str(vrag(fidelity=fidelity)) == written
    assert recipe(f"vrag:fidelity={fidelity}") == vrag(fidelity=fidelity)


def test_every_switch_of_vrag_can_be_set_in_text():
    text = "vrag:encoders=clip+siglip,fusion=sum,weights=2+1,filter=off,m=20"
    value = recipe(text, keep=3)
    assert value == vrag(
        3, encoders=("clip", "siglip"), fusion="sum", weights=(2, 1), filter="off", m=20
    )
    assert (
        str(value) == '(fuse(Search("clip"), Search("siglip"), method="sum", weights=(2, 1)) % 3)'
    )
    assert str(recipe("vrag:encoders=clip,filter=off")) == '(Search("clip") % 5)'
    assert recipe("vrag", fidelity="code", m=20) == vrag(fidelity="code", m=20)


def test_late_interaction_over_all_pages_or_over_candidates():
    assert str(recipe("m3docrag")) == '(Search("colpali") % 4)'
    narrowed = recipe("m3docrag:candidates=100,channel=colqwen2")
    assert narrowed.explain().endswith("keep the best 100\nthen rank them by colqwen2\n"
                                       "then keep the best 4")  # fmt: skip


_PUBLISHED = 'relevance="grade", k=None, theta=0.4, measure="product"'
_OTHER = 'alpha=0.6, floor=0.4, relevance="grade"'
_CODED = 'alpha=0.4, floor=0.3, relevance="grade"'


@pytest.mark.parametrize(
    ("options", "stage"),
    [
        ("fidelity=paper", f'Beam("grade", {_PUBLISHED})'),
        ("fidelity=code", f'Beam("grade?molorag", {_CODED}, theta=0.8, least=4)'),
        ("fidelity=fixed", 'Beam("grade", alpha=0.4, degree=6, rest="keep")'),
        ("fidelity=paper,mode=logic", f'Beam("grade", alpha=0, {_PUBLISHED})'),
        ("fidelity=code,mode=full", f'Weigh("grade?molorag", {_CODED})'),
        (
            "fidelity=code,alpha=.6,floor=.4,theta=.7,width=5,hops=5",
            f'Beam("grade?molorag", width=5, hops=5, {_OTHER}, theta=0.7, least=4)',
        ),
        ("mode=top,top=20,judge=yes_no", 'Weigh("yes_no", top=20, alpha=0.4)'),
    ],
)
def test_molorag_says_how_it_follows_its_source(options, stage):
    assert str(recipe(f"molorag:{options}")) == f'((Search("colpali", {_WHOLE}) >> {stage}) % 3)'


def test_molorag_may_use_any_channel_of_vectors_and_no_judge():
    value = str(recipe("molorag:channel=dense,fidelity=code"))
    assert value.startswith(f'((Search("dense", {_WHOLE}) >> Beam(')
    assert 'channel="dense"' in value
    assert str(recipe("molorag:mode=base,fidelity=code")) == '(Search("colpali") % 3)'


def test_a_pair_of_text_and_image():
    pair = 'Search("dense", depth=4), Search("colpali", depth=4)'
    assert str(recipe("mdocagent")) == f'(fuse({pair}, method="rrf") % 8)'


def test_a_walk_from_any_recipe():
    value = str(recipe("walk:start=bm25,budget=30,share=.25,judge=text"))
    stage = 'Walk("text", budget=30, share=0.25, trust=1)'
    assert value == f'((Search("pages") % 200 >> {stage}) % 10)'
    assert recipe("walk:trust=.5").stages[-2] == Walk(trust=0.5)


def test_a_walk_may_hand_on_as_many_pages_as_stand_out():
    value = recipe("walk:by=mass,enough=2.5", keep=4)
    assert str(value).endswith('Walk("grade", enough=2.5) >> Keep("mass", most=4))')


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("vrag:m=many", "not a number"),
        ("vrag:m", "option=value"),
        ("vrag:size=3", "no option 'size'"),
        ("vrag:fidelity=best", "paper, code, fixed"),
        ("vrag:filter=maybe", "vote, log_odds, off"),
        ("vrag:fusion=mean", "sum, zscore, rrf"),
        ("vrag:m=0", "at least 1"),
        ("single", "needs channel"),
        ("vrag:encoders=", "name"),
        ("molorag:mode=fast", "base, logic, full, top, graph"),
        ("molorag:fidelity=best", "paper, code, fixed"),
        ("walk:share=much", "not a number"),
        ("walk:by=luck", "fixed, mass, mixture"),
    ],
)
def test_wrong_options_are_told(text, fault):
    with pytest.raises(UsageError, match=fault):
        recipe(text)
