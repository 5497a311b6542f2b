"""Nothing missing, the right name on it, and batches that fit into memory."""

from __future__ import annotations

import json
import shutil
import warnings

import numpy as np
import pytest
import torch

from pagetrail.encoders.batches import Limits, encode_in_batches
from pagetrail.encoders.loading import pick_dtype, pictures, unit_rows
from pagetrail.encoders.spec import load_image_encoder, parse_spec
from pagetrail.errors import ModelError, UsageError
from pagetrail.weights import fingerprint, pick_device, require_complete


def without(folder, copy, *endings, rename=False):
    """Copy a model and take the weights whose names end so out of its file."""
    from safetensors.torch import load_file, save_file

    shutil.copytree(folder, copy)
    path = copy / "model.safetensors"
    weights = load_file(path)
    dropped = [name for name in weights if name.endswith(endings)]
    assert dropped
    kept = {name: tensor for name, tensor in weights.items() if name not in dropped}
    if rename:
        kept |= {f"old_{name}": weights[name] for name in dropped}
    save_file(kept, path, metadata={"format": "pt"})
    return copy


@pytest.mark.parametrize("rename", [False, True])
@pytest.mark.parametrize(
    ("name", "ending"),
    [
        ("clip", "visual_projection.weight"),
        ("siglip", "text_model.head.weight"),
        ("siglip2", "head.probe"),
        ("colpali", "embedding_proj_layer.weight"),
        ("colqwen2", "embedding_proj_layer.bias"),
        ("sentence_clip", "text_projection.weight"),
        ("sentence_colpali", "embedding_proj_layer.weight"),
    ],
)
def test_missing_weights_are_named(tiny_model, tmp_path, name, ending, rename):
    folder = without(tiny_model(name), tmp_path / "copy", ending, rename=rename)
    with pytest.raises(ModelError, match=ending.replace(".", r"\.")):
        load_image_encoder(str(folder))


def test_a_projection_that_sentence_transformers_would_make_up_is_missed(tiny_model, tmp_path):
    folder = shutil.copytree(tiny_model("colsmol"), tmp_path / "copy")
    dense = next(path for path in folder.iterdir() if path.name.endswith("Dense"))
    for path in dense.glob("model.safetensors"):
        path.unlink()
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_image_encoder(str(folder))


def test_a_model_without_a_late_head_is_refused(tiny_model):
    with pytest.raises(ModelError, match="without a late-interaction head"):
        load_image_encoder(f"late:{tiny_model('idefics3')}")
    with pytest.raises(ModelError, match="one vector per text"):
        load_image_encoder(f"late:{tiny_model('sentence_clip')}")


def test_weights_of_another_shape_are_refused(tiny_model, tmp_path):
    folder = shutil.copytree(tiny_model("clip"), tmp_path / "copy")
    config = json.loads((folder / "config.json").read_text())
    config["projection_dim"] = 8
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=r"another shape.*text_projection"):
        load_image_encoder(str(folder))


def test_the_report_of_a_load_is_read():
    spec = parse_spec("clip:a/b")
    require_complete(str(spec), {"missing_keys": set(), "mismatched_keys": set(), "error_msgs": []})
    with pytest.raises(ModelError, match=r"4 weights are missing.*a, b, c, \.\.\."):
        require_complete(str(spec), {"missing_keys": ["d", "b", "a", "c"]})
    with pytest.raises(ModelError, match=r"another shape.*head"):
        require_complete(str(spec), {"mismatched_keys": {("head", (2,), (3,))}})


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("clip:no/such-model", "not found on the hub"),
        ("colpali:no/such-model", "not found on the hub"),
        ("late:no/such-model@abc", "not found on the hub"),
        ("sentence:no/such-model", "not found on the hub"),
    ],
)
def test_a_model_that_is_not_there_is_one_clear_line(spec, said):
    with pytest.raises(ModelError, match=said) as caught:
        load_image_encoder(spec)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        ("siglip", "clip", "a clip model, not siglip"),
        ("clip", "siglip", "a siglip model, not clip"),
        ("colpali", "colqwen2", "a colqwen2 model; write colqwen2:"),
        ("colqwen2", "sentence_colpali", "a colpali model"),
        ("colqwen2", "colsmol", "a colsmol model"),
    ],
)
def test_another_kind_of_model_is_refused(tiny_model, kind, name, said):
    with pytest.raises(ModelError, match=said):
        load_image_encoder(f"{kind}:{tiny_model(name)}")


def test_a_damaged_file_is_a_model_error(tiny_model, tmp_path):
    folder = shutil.copytree(tiny_model("clip"), tmp_path / "copy")
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_image_encoder(str(folder))


def test_code_beside_a_model_is_never_run(tiny_model, tmp_path):
    folder = shutil.copytree(tiny_model("clip"), tmp_path / "copy")
    marker = tmp_path / "ran"
    (folder / "theirs.py").write_text(f"open({str(marker)!r}, 'w').close()\nclass Theirs: pass\n")
    config = json.loads((folder / "config.json").read_text())
    config["model_type"] = "theirs"
    config["auto_map"] = {"AutoConfig": "theirs.Theirs", "AutoModel": "theirs.Theirs"}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError):
        load_image_encoder(f"clip:{folder}")
    assert not marker.exists()


# --- revision ------------------------------------------------------------------------------------


def test_a_fingerprint_names_the_files(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        return fingerprint(tmp_path)

    large = bytearray(6 << 20)
    first = write("model.safetensors", large)
    assert len(first) == 16
    assert int(first, 16) >= 0
    assert fingerprint(tmp_path) == first
    for ignored in ("README.md", ".cache/x", ".gitattributes"):
        assert write(ignored, b"words") == first
    seen = {first, write("config.json", b"{}"), write("1_Dense/config.json", b"{}")}
    large[-1] = 1
    seen.add(write("model.safetensors", large))
    large[0] = 1
    seen.add(write("model.safetensors", large))
    seen.add(write("model.safetensors", large + b"x"))
    (tmp_path / "config.json").rename(tmp_path / "config2.json")
    seen.add(fingerprint(tmp_path))
    assert len(seen) == 7


def test_copies_of_a_folder_are_the_same_model(tiny_model, tmp_path):
    folder = shutil.copytree(tiny_model("clip"), tmp_path / "elsewhere")
    here, there = load_image_encoder(str(tiny_model("clip"))), load_image_encoder(str(folder))
    assert here.revision == there.revision
    assert (here.name, there.name) == ("clip:clip", "clip:elsewhere")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("clip", "clip"),
        ("colpali", "colpali"),
        ("sentence_clip", "sentence"),
        ("sentence_colpali", "late"),
    ],
)
def test_a_model_of_the_hub_is_named_by_its_commit(tiny_model, tmp_path, monkeypatch, name, kind):
    import huggingface_hub.constants as hub
    import transformers.utils.hub as theirs

    commit = "0123456789abcdef0123456789abcdef01234567"
    cached = tmp_path / f"models--org--{name}"
    shutil.copytree(tiny_model(name), cached / "snapshots" / commit)
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text(commit)
    monkeypatch.setattr(hub, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(theirs.constants, "HF_HUB_CACHE", str(tmp_path))
    for revision in ("", f"@{commit}"):
        encoder = load_image_encoder(f"{kind}:org/{name}{revision}")
        assert (encoder.name, encoder.revision) == (f"{kind}:org/{name}", commit)
    with pytest.raises(ModelError, match="not found on the hub"):
        load_image_encoder(f"{kind}:org/{name}@other")


# --- devices, pictures, vectors ------------------------------------------------------------------


def test_auto_takes_what_is_there(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert pick_device("auto").type == "cpu"
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert pick_device("auto").type == "mps"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert pick_device("auto").type == "cuda"


def test_auto_is_half_precision_only_for_late_models_on_cuda():
    cuda, cpu = torch.device("cuda"), torch.device("cpu")
    assert pick_dtype("auto", cuda, late=True) is torch.bfloat16
    assert pick_dtype("auto", cuda, late=False) is torch.float32
    assert pick_dtype("auto", cpu, late=True) is torch.float32
    assert pick_dtype("float16", cpu, late=True) is torch.float16


@pytest.mark.parametrize(
    "bad",
    [
        np.zeros((4, 4), np.uint8),
        np.zeros((4, 4, 4), np.uint8),
        np.zeros((4, 4, 3), np.float32),
        np.zeros((0, 4, 3), np.uint8),
    ],
)
def test_what_is_no_picture_is_refused_by_index(bad):
    good = np.zeros((2, 2, 3), np.uint8)
    with pytest.raises(UsageError, match="picture 1 is"):
        pictures([good, bad])


def test_a_strip_gets_white_beside_it():
    strips = [np.zeros((3000, 10, 3), np.uint8), np.zeros((10, 3000, 3), np.uint8)]
    tall, wide = pictures(strips)
    assert (tall.size, wide.size) == ((20, 3000), (3000, 20))
    assert tall.getpixel((9, 5)) == (0, 0, 0)
    assert tall.getpixel((19, 5)) == (255, 255, 255)
    assert pictures([np.zeros((1, 1, 3), np.uint8)])[0].size == (1, 1)


def test_rows_come_out_as_float32_of_unit_length():
    rows = unit_rows(torch.tensor([[3.0, 4.0]], dtype=torch.bfloat16), "x")
    assert rows.dtype == np.float32
    assert rows.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)]]
    for bad in (float("nan"), float("inf"), 0.0):
        with pytest.raises(ModelError, match="x gives vectors"):
            unit_rows(torch.tensor([[bad, 0.0]]), "x")


# --- batches -------------------------------------------------------------------------------------


def test_batches_keep_order_and_bounds():
    batches = []

    def encode(batch):
        batches.append(list(batch))
        return [f"<{item}>" for item in batch]

    costs = [5, 1, 9, 1, 30, 1]
    items = list("abcdef")
    results = encode_in_batches(items, costs, encode, Limits(3, 10))
    assert results == ["<a>", "<b>", "<c>", "<d>", "<e>", "<f>"]
    assert batches == [["e"], ["c"], ["a", "b"], ["d", "f"]]
    assert encode_in_batches([], [], encode, Limits(3, 10)) == []


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
        RuntimeError("MPS backend out of memory (MPS allocated: 9 GB)"),
        RuntimeError("[enforce fail] DefaultCPUAllocator: not enough memory: you tried"),
        MemoryError(),
    ],
)
def test_a_full_device_halves_the_batch_and_goes_on(error):
    sizes = []

    def encode(batch):
        sizes.append(len(batch))
        if len(batch) > 2:
            raise error
        return batch

    items, limits = list(range(9)), Limits(8, 8)
    assert encode_in_batches(items, [1] * 9, encode, limits) == items
    assert sizes == [8, 4, 2, 2, 2, 2, 1]
    assert encode_in_batches(items[:4], [1] * 4, encode, limits) == items[:4]
    assert sizes[7:] == [2, 2]  # later calls know


def test_one_picture_that_does_not_fit_is_named():
    def encode(batch):
        if 3 in batch:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return batch

    with pytest.raises(ModelError, match=r"picture 3 does not fit.*even alone"):
        encode_in_batches(list(range(6)), [1] * 6, encode, Limits(4, 4))


def test_an_encoder_goes_on_after_its_device_was_full(tiny_model, monkeypatch):
    encoder = load_image_encoder(str(tiny_model("clip")), batch=4)
    images = [np.full((9, 9, 3), shade, np.uint8) for shade in range(0, 200, 40)]
    expected = encoder.encode_images(images).data
    look = encoder._towers.images

    def little(batch):
        if len(batch) > 1:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return look(batch)

    monkeypatch.setattr(encoder._towers, "images", little)
    assert np.allclose(encoder.encode_images(images).data, expected, atol=1e-5)


def test_other_errors_pass():
    def encode(batch):
        raise RuntimeError("shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="shapes"):
        encode_in_batches([1], [1], encode, Limits(4, 4))


def test_threads_and_gradients_are_left_alone(tiny_model):
    threads = torch.get_num_threads()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder = load_image_encoder(str(tiny_model("clip")))
        encoder.encode_images([np.zeros((9, 9, 3), np.uint8)])
    assert torch.get_num_threads() == threads
    assert torch.is_grad_enabled()
