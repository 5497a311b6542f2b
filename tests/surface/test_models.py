"""Encoders, judges and models from the command line and from Python, as a user meets them."""

import io
import json
import os
import shutil
import subprocess
import sys

import pytest
from PIL import Image

import pagetrail as package
from pagetrail.config import DocumentSettings, load_settings
from pagetrail.errors import LockedError, MissingExtraError, ModelError, NotFoundError, UsageError
from pagetrail.modelling import Labelled
from pagetrail.ports import Reply
from pagetrail.testing import ChatServer, PatchEncoder, ScriptedChat, Turn

COLOURS = {"red": (220, 30, 30), "green": (30, 160, 60), "blue": (30, 60, 200)}


def made(spec, settings):
    """Stand in for `encoding.load_encoder`: fakes of one vector or of many, by the spec's kind."""
    return PatchEncoder(late=spec.startswith("colpali"), name=spec.partition(":")[0])


def paint(folder):
    """Write three plain pictures into a folder."""
    folder.mkdir()
    for name, colour in COLOURS.items():
        Image.new("RGB", (90, 60), colour).save(folder / f"{name}.png")
    return folder


@pytest.fixture
def colours(tmp_path):
    """Return a folder with three plain pictures, to be changed at will."""
    return paint(tmp_path / "colours")


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """Return a library of three pictures that stay as they are; tests work on copies of it."""
    folder = tmp_path_factory.mktemp("shelf")
    settings = load_settings(documents=DocumentSettings(ocr=False, workers=1))
    with package.open(folder / "library", settings=settings) as library:
        library.add(paint(folder / "colours"))
    return folder / "library"


@pytest.fixture
def library(pagetrail, shelf, tmp_path, monkeypatch):
    """Return the command line over a library of three pictures, with the fakes at hand."""
    monkeypatch.setenv("PAGETRAIL_DOCUMENTS__OCR", "false")
    monkeypatch.setattr("pagetrail.encoding.load_encoder", made)
    shutil.copytree(shelf, tmp_path / "library")
    return pagetrail


@pytest.fixture
def own(pagetrail, colours, monkeypatch):
    """Return the command line over a library of pictures that the test may change."""
    monkeypatch.setenv("PAGETRAIL_DOCUMENTS__OCR", "false")
    monkeypatch.setattr("pagetrail.encoding.load_encoder", made)
    pagetrail("add", colours)
    return pagetrail


def found(result):
    assert result.code == 0, result.err
    return [os.path.basename(hit["document"]) for hit in result.rows[0]["hits"]]


def test_an_encoder_is_added_listed_searched_and_dropped(library):
    first = library("encode", "add", "clip:any", "--json")
    assert first.rows == [
        {
            "encoder": "clip",
            "pages": 3,
            "pending": 0,
            "failed": {},
            "seconds": pytest.approx(0, abs=60),
        }
    ]
    again = library("encode", "add", "clip:any", "--json")
    assert again.rows[0]["pages"] == 0
    assert library("encode", "add", "colpali:any").code == 0
    rows = library("encode", "list", "--json").rows
    assert [(r["encoder"], r["pages"], r["pending"]) for r in rows] == [
        ("clip", 3, 0), ("colpali", 3, 0)
    ]  # fmt: skip
    assert all(r["bytes"] > 0 for r in rows)
    for colour in COLOURS:
        for recipe in (
            "single:channel=clip",
            "m3docrag",
            "m3docrag:channel=colpali?exact",
            "vrag:encoders=clip+colpali,filter=off",
            "vrag:encoders=clip+colpali?exact,fusion=sum,filter=off",
        ):
            hits = found(library("search", f"the {colour} one", "-r", recipe, "--json"))
            assert hits[0] == f"{colour}.png", (colour, recipe)
    dropped = library("encode", "drop", "clip", "--json").rows[0]
    assert dropped["freed"] == rows[0]["bytes"]
    gone = library("search", "red", "-r", "single:channel=clip")
    assert gone.code == 2
    assert "clip" in gone.err
    assert "colpali" in gone.err
    assert library("encode", "drop", "clip").code == 2


def test_a_picture_is_the_question(library, tmp_path):
    library("encode", "add", "clip:any")
    Image.new("RGB", (30, 30), (30, 70, 190)).save(tmp_path / "asked.png")
    recipe = "single:channel=clip"
    assert (
        found(library("search", "--image", tmp_path / "asked.png", "-r", recipe, "--json"))[0]
        == "blue.png"
    )
    both = library("search", "red", "--image", tmp_path / "asked.png", "-r", recipe, "--json")
    assert found(both)[0] == "red.png"
    asked = library(
        "search", "red", "--image", tmp_path / "asked.png", "-r", f"{recipe}?image", "--json"
    )
    assert found(asked)[0] == "blue.png"
    (tmp_path / "none.png").write_bytes(b"no picture")
    broken = library("search", "--image", tmp_path / "none.png", "-r", recipe)
    assert (broken.code, "picture" in broken.err) == (2, True)


def test_new_pages_reach_the_encoders_and_pages_without_file_stay_pending(own, colours):
    own("encode", "add", "clip:any")
    Image.new("RGB", (90, 60), (250, 220, 40)).save(colours / "yellow.png")
    own("add", colours)
    assert found(own("search", "yellow", "-r", "single:channel=clip", "--json"))[0] == "yellow.png"
    (colours / "green.png").unlink()
    run = own("encode", "add", "colpali:any", "--json")
    assert run.code == 3
    (row,) = run.rows
    assert (row["pages"], row["pending"], len(row["failed"])) == (3, 1, 1)
    assert "green.png" in next(iter(row["failed"].values()))
    spoken = own("encode", "add")
    assert spoken.code == 3
    assert "1 page not encoded" in spoken.err
    searched = own("search", "red", "-r", "m3docrag", "--explain", "--json")
    assert searched.rows[0]["lacking"] == {"colpali": 1}
    assert "colpali lacks 1 page;" in searched.err
    Image.new("RGB", (90, 60), COLOURS["green"]).save(colours / "green.png")
    own("add", colours)
    assert own("encode", "add", "--json").rows in ([], [{**row, "pages": 1, "pending": 0}])
    assert found(own("search", "green", "-r", "m3docrag", "--json"))[0] == "green.png"


def test_documents_are_safe_when_an_encoder_cannot_be_loaded(own, colours, monkeypatch, caplog):
    own("encode", "add", "clip:any")

    def missing(spec, settings):
        raise MissingExtraError("torch", "local")

    monkeypatch.setattr("pagetrail.encoding.load_encoder", missing)
    Image.new("RGB", (90, 60), (250, 220, 40)).save(colours / "yellow.png")
    added = own("add", colours, "--json")
    assert {row["status"] for row in added.rows} <= {"indexed", "partial"}
    assert "pagetrail[local]" in caplog.text
    assert own("encode", "list", "--json").rows[0]["pending"] == 1
    assert "clip" in own("doctor").out
    refused = own("search", "red", "-r", "single:channel=clip")
    assert refused.code == 1
    assert "pip install" in refused.err


def test_an_encoder_that_cannot_be_loaded_holds_up_no_other(own, colours, monkeypatch, caplog):
    own("encode", "add", "clip:any")
    own("encode", "add", "siglip:any")

    def partly(spec, settings):
        if spec.startswith("clip"):
            raise ModelError("the folder is gone")
        return made(spec, settings)

    monkeypatch.setattr("pagetrail.encoding.load_encoder", partly)
    Image.new("RGB", (90, 60), (250, 220, 40)).save(colours / "yellow.png")
    assert own("add", colours).code == 0
    assert "clip cannot find yet: the folder is gone" in caplog.text
    rows = own("encode", "list", "--json").rows
    assert {row["encoder"]: row["pending"] for row in rows} == {"clip": 1, "siglip": 0}


def test_documents_are_safe_when_another_process_writes_first(own, colours, monkeypatch, caplog):
    own("encode", "add", "clip:any")

    def taken(*given, **more):
        raise LockedError("another process is writing")

    monkeypatch.setattr("pagetrail.encoding.Encoders.run", taken)
    Image.new("RGB", (90, 60), (250, 220, 40)).save(colours / "yellow.png")
    added = own("add", colours, "--json")
    assert (added.code, len(added.rows)) == (0, 4)
    assert "another process is writing" in caplog.text


def test_two_models_of_one_name_are_two_channels(library, monkeypatch):
    def alike(spec, settings):
        return PatchEncoder(name="clip", revision=spec.partition(":")[2])

    monkeypatch.setattr("pagetrail.encoding.load_encoder", alike)
    for revision in ("one", "two"):
        assert library("encode", "add", f"clip:{revision}", "--name", revision).code == 0
    recipe = "vrag:encoders=one+two,fusion=sum,filter=off"
    result = library("search", "green", "-r", recipe, "--json")
    assert found(result)[0] == "green.png"
    assert set(result.rows[0]["hits"][0]["parts"]) == {"one", "two"}


def test_the_pace_of_a_dropped_encoder_is_not_the_next_ones(library, tmp_path):
    library("encode", "add", "clip:any")
    with package.open(tmp_path / "library") as opened:
        assert opened._encoders.rate("clip") is not None
        opened.drop_encoder("clip")
        assert opened._encoders.rate("clip") is None


def test_a_picture_that_is_damaged_inside_is_an_error_of_the_users(library, tmp_path):
    library("encode", "add", "clip:any")
    buffer = io.BytesIO()
    noise = Image.effect_noise((64, 64), 90).convert("RGB")
    noise.save(buffer, "PNG")
    data = bytearray(buffer.getvalue())
    at = data.index(b"IDAT")
    size = int.from_bytes(data[at - 4 : at], "big")
    data[at - 4 : at] = (size // 2).to_bytes(4, "big")  # the next chunk begins in the middle
    (tmp_path / "broken.png").write_bytes(data)
    broken = library("search", "--image", tmp_path / "broken.png", "-r", "single:channel=clip")
    assert (broken.code, "picture cannot be read" in broken.err) == (2, True)


@pytest.mark.parametrize("change", [{"name": "other"}, {"revision": "2"}])
def test_another_model_is_refused_until_the_old_one_is_dropped(library, monkeypatch, change):
    library("encode", "add", "clip:any")
    monkeypatch.setattr(
        "pagetrail.encoding.load_encoder",
        lambda spec, settings: PatchEncoder(**{"name": "clip", **change}),
    )
    for command in (["encode", "add", "clip:any"], ["search", "red", "-r", "single:channel=clip"]):
        refused = library(*command)
        assert refused.code == 1
        assert "drop clip" in refused.err
    library("encode", "drop", "clip")
    assert library("encode", "add", "clip:any").code == 0


def test_a_model_that_only_calls_itself_the_same_is_noticed(library, monkeypatch):
    library("encode", "add", "clip:any")

    class Odd(PatchEncoder):
        def _patches(self, image):
            return super()._patches(255 - image)

    monkeypatch.setattr("pagetrail.encoding.load_encoder", lambda spec, settings: Odd(name="clip"))
    refused = library("search", "red", "-r", "single:channel=clip")
    assert refused.code == 1
    assert "not the model" in refused.err


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["clap:any"], "no kind 'clap'"),
        (["clip:any", "--name", "pages"], "channel of every library"),
        (["clip:any", "--name", "a b"], "no name"),
    ],
)
def test_specs_and_names_that_make_no_sense(library, arguments, fault):
    result = library("encode", "add", *arguments)
    assert (result.code, fault in result.err) == (2, True), result.err


def test_an_interrupted_run_goes_on_where_it_was(own, colours, monkeypatch, tmp_path):
    for n in range(12):
        Image.new("RGB", (90, 60), (250, 220, n)).save(colours / f"more{n}.png")
    own("add", colours)
    monkeypatch.setenv("PAGETRAIL_MODELS__BATCH", "1")
    seen = []

    class Dies(PatchEncoder):
        def encode_images(self, images):
            seen.append(len(images))
            if len(seen) == 3:  # the probe's picture is the first
                raise ModelError("the machine is on fire")
            return super().encode_images(images)

    monkeypatch.setattr("pagetrail.encoding.load_encoder", lambda *_: Dies(name="clip"))
    assert own("encode", "add", "clip:any").code == 1
    kept = own("encode", "list", "--json").rows[0]
    assert (kept["pages"], kept["pending"]) == (4, 11)
    monkeypatch.setattr("pagetrail.encoding.load_encoder", made)
    assert own("encode", "add", "--json").rows[0]["pages"] == 11


def test_explained_searches_show_scores_verdicts_steps_and_cost(library, tmp_path):
    library("encode", "add", "clip:any")
    chat = ScriptedChat(Reply("yes", {"yes": -0.1, "no": -2.4}))
    with package.open(tmp_path / "library", judge=chat) as opened:
        shown = opened.view(opened.explain("red", pipeline="vrag:encoders=clip", limit=2))
    assert shown["pipeline"].startswith('((Search("clip") % 60 >> Filter("yes_no"')
    assert len(shown["hits"]) == 2
    verdict = shown["hits"][0]["verdicts"]["yes_no"]
    assert verdict["log_odds"] == pytest.approx(2.3)
    assert verdict["outcome"] == "judged"
    assert shown["steps"][2]["asked"] == "3"
    assert shown["cost"]["calls"] == 3
    text = library("search", "red", "-r", "single:channel=clip", "--explain").out
    for part in ("pipeline", "clip ", "steps", "search clip: pages 3", "cost 0 calls"):
        assert part in text


def test_recipes_that_need_a_model_say_which(library):
    library("encode", "add", "clip:any")
    result = library("search", "red", "-r", "vrag:encoders=clip")
    assert result.code == 2
    assert "models.judge" in result.err
    assert "cross-encoder" in library("search", "red", "-r", "rerank").err
    assert "no recipe 'magic'" in library("search", "red", "-r", "magic").err


def test_ask_takes_a_recipe(library, tmp_path):
    (tmp_path / "notes.md").write_text("# Ferry\n\nThe Marigold was built in 1987.\n")
    library("add", tmp_path / "notes.md")
    result = library("ask", "When was the Marigold built?", "-r", "bm25", "--json")
    assert result.rows[0]["answer"] == "1987"


@pytest.mark.enable_socket
@pytest.mark.allow_hosts(["127.0.0.1"])
class TestWithAServer:
    def test_models_check_tells_what_the_model_can_do(self, pagetrail, monkeypatch):
        said = Turn("yes", logprobs={"yes": -0.01, "no": -5.0})
        with ChatServer(said, schema="ignored", key="secret") as server:
            monkeypatch.setenv("PAGETRAIL_MODELS__JUDGE", f"openai:test@{server.url}")
            monkeypatch.setenv("PAGETRAIL_MODELS__API_KEY", "secret")
            result = pagetrail("models", "check", "--json")
        assert result.code == 0, result.err
        (row,) = result.rows
        assert (row["role"], row["text"], row["image"]) == ("judge", "ok", "ok")
        assert (row["logprobs"], row["schema"]) == (True, "ignored")
        assert "secret" not in result.out + result.err

    def test_a_server_that_is_down_is_told(self, pagetrail, monkeypatch):
        with ChatServer() as server:
            url = server.url
        monkeypatch.setenv("PAGETRAIL_MODELS__JUDGE", f"openai:test@{url}")
        monkeypatch.setenv("PAGETRAIL_MODELS__RETRIES", "0")
        result = pagetrail("models", "check")
        assert result.code == 1
        assert "text failed" in result.out

    @pytest.mark.parametrize("wrong", [{"key": "secret"}, {"models": ["another"]}])
    def test_a_model_that_cannot_be_used_ends_the_search(self, library, monkeypatch, wrong):
        library("encode", "add", "clip:any")
        with ChatServer(**wrong) as server:
            monkeypatch.setenv("PAGETRAIL_MODELS__JUDGE", f"openai:test@{server.url}")
            result = library("search", "red", "-r", "vrag:encoders=clip")
        assert result.code == 1
        assert result.out == ""
        assert ("models.api_key" if "key" in wrong else "model's name") in result.err

    def test_vrag_over_a_server_with_budget_and_cache(self, library, monkeypatch, tmp_path):
        library("encode", "add", "clip:any")
        monkeypatch.setenv("PAGETRAIL_MODELS__CONCURRENCY", "1")
        with ChatServer(Turn("yes", logprobs={"yes": -0.1, "no": -2.0})) as server:
            monkeypatch.setenv("PAGETRAIL_MODELS__JUDGE", f"openai:test@{server.url}")
            arguments = ("search", "red", "-r", "vrag:encoders=clip", "--explain", "--json")
            monkeypatch.setenv("PAGETRAIL_MODELS__MAX_CALLS", "2")
            spoken = library(*arguments[:-2])
            assert "judge yes_no: 1 failed of 3: budget spent" in spoken.err
            monkeypatch.setenv("PAGETRAIL_MODELS__MAX_CALLS", "0")
            (short,) = library(*arguments).rows
            assert (short["steps"][2]["failed"], short["steps"][2]["cache_hits"]) == ("1", 2)
            assert len(server.asked) == 2
            monkeypatch.delenv("PAGETRAIL_MODELS__MAX_CALLS")
            (whole,) = library(*arguments).rows
            assert whole["steps"][2]["failed"] == "0"
            assert (whole["steps"][2]["calls"], whole["steps"][2]["cache_hits"]) == (1, 2)
            assert len(server.asked) == 3
            (kept,) = library(*arguments).rows
            assert (kept["cost"]["calls"], len(server.asked)) == (0, 3)
            assert library("models", "forget", "--json").rows == [{"forgotten": 3}]
            library(*arguments)
            assert len(server.asked) == 6


def test_a_judge_is_calibrated_on_labelled_questions(library, tmp_path):
    """The judge is right four times out of five, and far too sure."""
    (tmp_path / "lines").mkdir()
    for n in range(1, 31):
        text = f"# Report {n}\n\nLine {n} carried {n}00 passengers.\n"
        (tmp_path / "lines" / f"line{n}.md").write_text(text)
    library("add", tmp_path / "lines")
    asked = iter(range(1, 1000))

    def says(call):
        n = next(asked)
        odds = 9.0 if (n % 2 == 1) != (n % 5 == 0) else -9.0
        return Reply("yes", {"yes": min(odds, 0) - 0.1, "no": -max(odds, 0) - 0.1})

    labelled = [
        Labelled(
            f"How many passengers had line {n}?",
            f"line{n}.md",
            frozenset({1}) if n % 2 else frozenset(),
        )
        for n in range(1, 31)
    ]
    with package.open(tmp_path / "library", judge=ScriptedChat(says, draws=False)) as opened:
        with pytest.raises(NotFoundError):
            opened.models.calibration("yes_no")
        done = opened.models.calibrate("yes_no", labelled, pages=2)
        assert (done.before.count, done.unjudged) == (30, 0)
        assert done.before.error == pytest.approx(0.2, abs=0.01)
        assert done.after.error < done.before.error
        assert done.after.brier < done.before.brier - 0.02
        assert done.calibration.apply(9.0) == pytest.approx(0.8, abs=0.06)
        assert done.calibration.apply(-9.0) == pytest.approx(0.2, abs=0.06)
        assert opened.models.calibration("yes_no") == done.calibration
        assert done.calibration.labels == 30
        assert opened.models.usage.calls == 0  # the scripted model keeps no account
        with pytest.raises(UsageError, match="20 labelled"):
            opened.models.calibrate("yes_no", labelled[:3], pages=2)
        for folds in (0, 1):
            with pytest.raises(UsageError, match="folds"):
                opened.models.calibrate("yes_no", labelled, folds=folds)
        with pytest.raises(UsageError, match="no document"):
            opened.models.calibrate("yes_no", [Labelled("Where?", None, frozenset({1}))])
        with pytest.raises(UsageError, match="calibrated already"):
            opened.models.calibrate("text", labelled)
    other = ScriptedChat(says, draws=False, name="another model")
    with package.open(tmp_path / "library", judge=other) as opened, pytest.raises(NotFoundError):
        opened.models.calibration("yes_no")  # what fits one model's numbers fits no other's


def test_a_closed_library_holds_its_catalogue_no_more(library, tmp_path):
    with package.open(tmp_path / "library", judge=ScriptedChat("yes", draws=False)) as opened:
        opened.search("red", pipeline="rerank:judge=yes_no,start=bm25")
        replies = opened._judges.replies
        replies.get("anything")
        assert replies._connection is not None
    assert replies._connection is None


def test_a_cross_encoder_is_loaded_once_to_be_calibrated(library, tmp_path, monkeypatch):
    loaded = []

    class Fake:
        name, revision = "fake", "1"

        def __init__(self, *given, **more):
            loaded.append(given)

        def __call__(self, question, texts):
            return [0.5] * len(texts)

    (tmp_path / "note.md").write_text("# Report\n\nThe line carried 300 passengers.\n")
    library("add", tmp_path / "note.md")
    monkeypatch.setattr("pagetrail.models.cross.CrossEncoder", Fake)
    monkeypatch.setenv("PAGETRAIL_MODELS__RERANKER", "anything")
    asked = [Labelled(f"Passengers, {n}?", "note.md", frozenset({1})) for n in range(3)]
    with package.open(tmp_path / "library") as opened:
        with pytest.raises(UsageError, match="20 labelled"):
            opened.models.calibrate("cross_encoder", asked)
        assert opened.search("passengers", pipeline="rerank").hits[0].verdicts
    assert len(loaded) == 1


def test_estimate_spends_nothing(pagetrail, colours, tmp_path):
    result = pagetrail("estimate", colours, "-r", "vrag:m=20", "--json")
    assert result.code == 0
    (told,) = result.rows
    assert (told["files"], told["pages"], told["stored"]) == (3, 3, 0)
    assert told["per_question"]["calls"] == 3  # no more pages than there are
    assert told["per_question"]["tokens"] > 3000
    assert len(told["missing"]) == 4
    assert not (tmp_path / "library").exists()
    (tmp_path / "odd.docx").write_bytes(b"PK\x03\x04")
    spoken = pagetrail("estimate", tmp_path / "odd.docx")
    assert "not counted" in spoken.out
    assert pagetrail("estimate", tmp_path / "nowhere").code == 2


def test_estimates_know_the_pace_of_an_encoder(library, colours):
    library("encode", "add", "clip:any")
    (told,) = library("estimate", colours, "--json").rows
    assert (told["stored"], told["encode"]["clip"]["pages"]) == (3, 3)
    assert 0 <= told["encode"]["clip"]["seconds"] < 60
    assert "clip will encode 3 pages" in library("estimate", colours).out


def test_help_and_listing_do_not_load_models(library):
    code = (
        "import sys; from pagetrail.cli import main\n"
        "sys.argv = ['pagetrail', 'encode', 'list']\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert not stop.code\n"
        "heavy = {'torch', 'transformers', 'openai', 'sentence_transformers'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert json.loads(library("config", "show", "--json").out)["models"]["api_key"] is None


def test_removing_documents_frees_the_space_of_their_vectors(own, colours):
    own("encode", "add", "colpali:any")
    before = own("encode", "list", "--json").rows[0]
    own("remove", colours / "red.png", colours / "green.png")
    after = own("encode", "list", "--json").rows[0]
    assert (before["pages"], after["pages"]) == (3, 1)
    assert after["bytes"] < before["bytes"] / 2
    assert found(own("search", "blue", "-r", "m3docrag", "--json")) == ["blue.png"]
