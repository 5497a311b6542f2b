"""Chat models that run on this machine, through transformers: Qwen2-VL and later, LLaVA-OneVision,
Idefics3, SmolVLM, any other image-text-to-text model, and plain language models for text alone.

Replies are decoded greedily. Log-probabilities are exact: they come from the model's own logits, of
the likeliest alternatives and always of yes, no, digits and letters, so that a judge's odds rest
on no bound.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal

from ..errors import EndpointError, ModelError, ReplyError, UsageError
from ..ports import Message, Reply
from ..weights import (
    first_line,
    is_out_of_memory,
    need,
    pick_device,
    quietly,
    release_memory,
    require_complete,
    translated,
)
from .budget import Meter
from .loading import folder_of, open_picture, revision_of
from .prompts import JSON, REPAIR
from .schema import ReplyFaultError, check_schema, read_reply
from .thinking import split
from .tokens import alternatives, broken_up, special_tokens, words_asked_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["LocalChat"]

_BLANKS = 4  # tokens of blank space that may stand before a reply


class LocalChat:
    """A `ChatModel` that runs here; one call at a time, and threads wait for each other.

    Nothing is loaded before the first call. Special tokens in messages, such as ``<|im_end|>`` on
    a page, are broken up, so that no page can end its own message and speak in another's name.
    Code that comes with a model is never run.

    Args:
        model: A folder, or a name on the model hub.
        revision: Commit, tag or branch on the hub; empty: the newest.
        device: As torch calls it; ``auto`` is cuda, then mps, then cpu.
        dtype: Number format of the weights; ``auto`` is the checkpoint's own, but float32 on cpu.
        pixels: Most pixels of a picture; larger ones are scaled down. None: as they come.
        meter: Counts and limits what is spent; one of its own by default.
    """

    concurrency = 1

    def __init__(
        self,
        model: str,
        *,
        revision: str = "",
        device: str = "auto",
        dtype: str = "auto",
        pixels: int | None = None,
        meter: Meter | None = None,
    ) -> None:
        if dtype not in ("auto", "float32", "bfloat16", "float16"):
            raise UsageError(f"no dtype {dtype!r}; there are auto, float32, bfloat16, float16")
        if pixels is not None and pixels < 1:
            raise UsageError(f"pixels must be at least 1, not {pixels}")
        self._model, self._asked_revision = model, revision
        self._device, self._dtype, self._pixels = device, dtype, pixels
        self._meter = meter if meter is not None else Meter()
        self._lock = RLock()

    def __repr__(self) -> str:
        return f"LocalChat({self._model!r})"

    @property
    def name(self) -> str:
        """The model's name: on the hub, or its folder's without the path."""
        folder = folder_of(self._model)
        return self._model if folder is None else folder.resolve().name

    @property
    def revision(self) -> str:
        """The hub's commit, or a fingerprint of the folder's files; weights are not loaded."""
        with self._lock:
            return self._revision

    @property
    def meter(self) -> Meter:
        """What counts the calls."""
        return self._meter

    @property
    def settings(self) -> Mapping[str, str]:
        """Whatever else changes replies; part of the key under which they are kept."""
        pixels = "any" if self._pixels is None else str(self._pixels)
        return {"dtype": self._dtype, "pixels": pixels, "json": JSON.id, "repair": REPAIR.id}

    def chat(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, object] | None = None,
        max_tokens: int = 512,
        logprobs: bool = False,
    ) -> Reply:
        """Return the reply to a conversation; see `ports.ChatModel.chat`.

        Raises:
            EndpointError: The conversation is longer than the model can read.
            ReplyError: With a schema: the reply does not follow it after one repair, or was cut.
            BudgetError: The budget is spent.
            ModelError: The model cannot be loaded, cannot look at pictures, or memory ran out.
            MissingExtraError: The extra ``local`` is not installed.
        """
        if not messages or messages[-1].role != "user":
            raise UsageError("a conversation ends with a message of the user's")
        if max_tokens < 1:
            raise UsageError(f"max_tokens must be at least 1, not {max_tokens}")
        if schema is None:
            return self._say(messages, max_tokens, logprobs=logprobs)
        check_schema(schema)
        told = JSON.fill(schema=json.dumps(schema, default=dict))
        turns = [*messages[:-1], replace(messages[-1], text=f"{messages[-1].text}\n\n{told}")]
        first = self._say(turns, max_tokens, logprobs=logprobs)
        data, fault = self._data(first, schema)
        if not fault:
            return replace(first, data=data)
        turns += [Message("assistant", first.text), Message("user", REPAIR.fill(fault=fault))]
        second = self._say(turns, max_tokens, logprobs=logprobs)
        data, fault = self._data(second, schema)
        if fault:
            raise ReplyError(f"{self.name}: the reply does not follow the schema: {fault}")
        return replace(
            second,
            data=data,
            prompt_tokens=first.prompt_tokens + second.prompt_tokens,
            reply_tokens=first.reply_tokens + second.reply_tokens,
            calls=first.calls + second.calls,
        )

    def _data(self, reply: Reply, schema: Mapping[str, object]) -> tuple[Any, str]:
        """Return the reply's JSON and "", or None and what is wrong with it."""
        if reply.finish == "length":
            raise ReplyError(
                f"{self.name}: the reply was cut off at the most tokens allowed; allow more"
            )
        try:
            return read_reply(reply.text, schema), ""
        except ReplyFaultError as fault:
            return None, str(fault)

    # --- one call --------------------------------------------------------------------------------

    def _say(self, messages: Sequence[Message], max_tokens: int, *, logprobs: bool) -> Reply:
        with self._lock:
            self._meter.check()
            engine = self._engine
            if not engine.sees and any(message.images for message in messages):
                raise ModelError(
                    f"{self.name} reads text only; ask without pictures, or name a model that sees"
                )
            # Equal keys mean equal bytes: what is shown twice is drawn once.
            images = {image.key: image for message in messages for image in message.images}
            opened = {key: open_picture(i.draw(), self._pixels) for key, i in images.items()}
            pictures = [[opened[image.key] for image in m.images] for m in messages]
            self._meter.reserve()
            failure = ""
            try:
                reply = engine.reply(messages, pictures, max_tokens, logprobs=logprobs)
            except BaseException as error:
                self._meter.fail()
                if not is_out_of_memory(error):
                    raise
                failure = first_line(error)
            if failure:  # outside the handler: the traceback would hold on to the tensors
                release_memory()
                raise ModelError(
                    f"{self.name}: memory ran out ({failure}); ask for fewer pixels, a smaller "
                    "dtype, or another device"
                )
            self._meter.settle(reply.prompt_tokens, reply.reply_tokens)
            return reply

    @cached_property
    def _revision(self) -> str:
        return revision_of(self._model, self._asked_revision)

    @cached_property
    def _engine(self) -> _Engine:
        return _load(self._model, self._asked_revision, self._device, self._dtype)


class _Engine:
    """A loaded model with what turns messages into its inputs."""

    def __init__(self, name: str, model: Any, processor: Any, *, sees: bool) -> None:
        self._name, self._model, self._processor, self.sees = name, model, processor, sees
        self._tokenizer = getattr(processor, "tokenizer", processor)
        self._template = _template(name, processor, self._tokenizer)
        self._special = special_tokens(self._tokenizer)
        self._always = words_asked_for(self._tokenizer)
        eos = model.generation_config.eos_token_id
        if eos is None:
            eos = self._tokenizer.eos_token_id
        self._ends = eos if isinstance(eos, list) else [] if eos is None else [eos]
        pad = self._tokenizer.pad_token_id
        self._pad = (self._ends or [0])[0] if pad is None else pad
        # What a checkpoint sets for itself (repetition penalty, temperature) would be mixed in.
        model.generation_config = type(model.generation_config)(
            eos_token_id=self._ends or None, pad_token_id=self._pad
        )
        config = model.config.get_text_config()
        self._context = getattr(config, "max_position_embeddings", None)

    def reply(
        self,
        messages: Sequence[Message],
        pictures: Sequence[Sequence[Any]],
        max_tokens: int,
        *,
        logprobs: bool,
    ) -> Reply:
        """Return the reply to messages whose pictures have been opened."""
        inputs = self._inputs(messages, pictures)
        length = int(inputs["input_ids"].shape[1])
        if self._context is not None and length + max_tokens > self._context:
            raise EndpointError(
                f"{self._name}: {length} tokens of prompt and {max_tokens} of reply do not fit "
                f"into its context of {self._context}; show fewer or smaller pictures, or less text"
            )
        written, logits = self._generate(inputs, length, max_tokens, logprobs=logprobs)
        ended = bool(written) and written[-1] in self._ends
        raw = self._tokenizer.decode(written, skip_special_tokens=True)
        thought, text = split(raw)
        told = None if thought or not logprobs else self._alternatives(written, logits)
        finish: Literal["stop", "length"]
        finish = "length" if len(written) >= max_tokens and not ended else "stop"
        return Reply(text, told, prompt_tokens=length, reply_tokens=len(written), finish=finish)

    def _generate(
        self, inputs: Any, length: int, max_tokens: int, *, logprobs: bool
    ) -> tuple[list[int], list[Any]]:
        """Return the tokens written, and the logits of the first few of them."""
        torch = need("torch", "torch")
        transformers = need("transformers", "transformers")
        seen: list[Any] = []

        def keep(_ids: Any, scores: Any) -> Any:
            if len(seen) < _BLANKS + 1:
                seen.append(scores[0].detach().float())
            return scores

        settings = transformers.GenerationConfig(
            max_new_tokens=max_tokens,
            do_sample=False,
            num_beams=1,
            eos_token_id=self._ends or None,
            pad_token_id=self._pad,
        )
        with torch.inference_mode():
            sequence = self._model.generate(
                **inputs,
                generation_config=settings,
                logits_processor=[keep] if logprobs else [],
            )
        return sequence[0, length:].tolist(), seen

    def _inputs(self, messages: Sequence[Message], pictures: Sequence[Sequence[Any]]) -> Any:
        turns = []
        for message, images in zip(messages, pictures, strict=True):
            text = self._clean(message.text)
            content: Any = text
            if self.sees:
                content = [{"type": "image", "image": image} for image in images]
                content.append({"type": "text", "text": text})
            turns.append({"role": message.role, "content": content})
        inputs = self._filled(turns)
        if not self.sees:
            inputs.pop(
                "token_type_ids", None
            )  # some tokenizers write them, no model here reads them
            return inputs.to(self._model.device)
        return inputs.to(self._model.device, dtype=self._model.dtype)

    def _filled(self, turns: list[dict[str, Any]]) -> Any:
        extra = {"enable_thinking": False} if "enable_thinking" in self._template else {}
        errors = need("jinja2.exceptions", "jinja2")
        try:
            return self._fill(turns, extra)
        except errors.TemplateError:
            # Some templates know no system's turn: what it says then opens the user's.
            if turns[0]["role"] != "system" or len(turns) < 2:
                raise
            return self._fill([_joined(turns[0], turns[1]), *turns[2:]], extra)

    def _fill(self, turns: list[dict[str, Any]], extra: Mapping[str, Any]) -> Any:
        return self._processor.apply_chat_template(
            turns,
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
            **extra,
        )

    def _clean(self, text: str) -> str:
        return broken_up(text, self._special)

    def _alternatives(
        self, written: Sequence[int], logits: Sequence[Any]
    ) -> dict[str, float] | None:
        """Return log-probabilities for the first token that is not blank, by its text."""
        torch = need("torch", "torch")
        for token, scores in zip(written, logits, strict=False):
            if not self._tokenizer.decode([token]).strip() and token not in self._ends:
                continue
            values = torch.log_softmax(scores, dim=-1)
            if not bool(torch.isfinite(values[token])):
                raise ModelError(
                    f"{self._name} gives numbers that are not finite; try dtype float32 or bfloat16"
                )
            return alternatives(self._tokenizer, values, self._always)
        return None


def _load(name: str, revision: str, device: str, dtype: str) -> _Engine:
    """Load a model and its processor, once all weights are accounted for."""
    torch = need("torch", "torch")
    transformers = need("transformers", "transformers")
    folder = folder_of(name)
    source = str(folder or name)
    if folder is not None and not folder.is_dir():
        raise ModelError(f"{name}: there is no such folder")
    options: dict[str, Any] = {"trust_remote_code": False}
    if revision and folder is None:
        options["revision"] = revision
    where = pick_device(device)
    if dtype == "auto" and where.type == "cpu":
        dtype = "float32"
    kind = dtype if dtype == "auto" else getattr(torch, dtype)
    with translated(name, hub=folder is None), quietly():
        config = transformers.AutoConfig.from_pretrained(source, **options)
        sees = type(config) in transformers.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
        if not sees and type(config) not in transformers.MODEL_FOR_CAUSAL_LM_MAPPING:
            raise ModelError(f"{name}: {config.model_type!r} is no model that replies to messages")
        loader = "AutoModelForImageTextToText" if sees else "AutoModelForCausalLM"
        model, info = getattr(transformers, loader).from_pretrained(
            source, dtype=kind, output_loading_info=True, **options
        )
        require_complete(name, info)
        reader = transformers.AutoProcessor if sees else transformers.AutoTokenizer
        processor = reader.from_pretrained(source, **options)
        model = model.to(where).eval().requires_grad_(requires_grad=False)
    return _Engine(name, model, processor, sees=sees)


def _template(name: str, processor: Any, tokenizer: Any) -> str:
    template = getattr(processor, "chat_template", None) or getattr(
        tokenizer, "chat_template", None
    )
    if not template:
        raise ModelError(
            f"{name}: it has no chat template, so it does not reply to messages; take the model's "
            "instruct or chat version"
        )
    return json.dumps(template) if isinstance(template, dict) else str(template)


def _joined(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Return the second turn with the first one's text before its own."""
    if isinstance(second["content"], str):
        return {**second, "content": f"{first['content']}\n\n{second['content']}"}
    *images, own = second["content"]
    text = f"{first['content'][-1]['text']}\n\n{own['text']}"
    return {**second, "content": [*images, {"type": "text", "text": text}]}
