"""Tiny models with random weights, made on the spot, so that tests run the real loading code.

Each maker writes weights, config, processor and tokenizer into a folder and returns it, as
``save_pretrained`` of a real model would; nothing is downloaded. Weights come from a fixed seed.
`make` finds a maker by name. Those in `NEEDS_TORCHVISION` need torchvision (and open_clip) even to
be loaded.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import torch
import transformers as hf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

if TYPE_CHECKING:
    from pathlib import Path

WORDS = (
    "yes no Yes No True False A B C D E F 0 1 2 3 4 5 6 7 8 9 page question answer picture which "
    "what shows total revenue red blue green box relevant grade Describe the image Query Question"
)
CHAT = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}{% if part['type'] == 'image' %}IMAGE"
    "{% elif part['type'] == 'text' %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
# What every tiny transformer has in common.
SIZE = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}


def make(name: str, folder: Path) -> Path:
    """Write the model of this name into a folder, from a fixed seed."""
    folder.mkdir(parents=True, exist_ok=True)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(20)
        MAKERS[name](folder)
    return folder


def tokenizer(specials=(), *, end, pad, start=None, ends=False, length=4096, **named):
    """Return a byte-level tokenizer, trained on `WORDS`, that reads any text.

    ``named`` are tokens that processors look up by attribute, such as ``image_token``.
    """
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    every = list(dict.fromkeys(t for t in (pad, end, start, *specials, *named.values()) if t))
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        special_tokens=every,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    made.train_from_iterator([WORDS] * 4, trainer)
    if ends:  # the text encoders of CLIP and its kin read their vector off the last token
        around = [(token, made.token_to_id(token)) for token in (start, end) if token]
        head = f"{start} " if start else ""
        made.post_processor = processors.TemplateProcessing(
            single=f"{head}$A {end}", special_tokens=around
        )
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=made,
        eos_token=end,
        pad_token=pad,
        bos_token=start,
        unk_token=end,
        model_max_length=length,
        extra_special_tokens=named,
    )


def save(folder, *parts):
    """Save a model and its processor side by side."""
    for part in parts:
        part.save_pretrained(folder)


def ids(tokens):
    """Return the token ids that configs ask for."""
    return {
        "bos_token_id": tokens.bos_token_id,
        "eos_token_id": tokens.eos_token_id,
        "pad_token_id": tokens.pad_token_id,
    }


# --- one vector per picture ----------------------------------------------------------------------


def clip(folder):
    tokens = tokenizer(
        start="<|startoftext|>", end="<|endoftext|>", pad="<|pad|>", ends=True, length=77
    )
    config = hf.CLIPConfig(
        text_config={
            **SIZE, "vocab_size": len(tokens), "max_position_embeddings": 77, **ids(tokens)
        },
        vision_config={**SIZE, "image_size": 32, "patch_size": 8},
        projection_dim=16,
    )  # fmt: skip
    images = hf.CLIPImageProcessor(
        size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}
    )
    save(folder, hf.CLIPModel(config), hf.CLIPProcessor(images, tokens))


def _siglip_text(tokens):
    return {**SIZE, "vocab_size": len(tokens), "max_position_embeddings": 64, **ids(tokens)}


def siglip(folder):
    tokens = tokenizer(end="</s>", pad="<pad>", ends=True, length=64)
    config = hf.SiglipConfig(
        text_config=_siglip_text(tokens),
        vision_config={**SIZE, "image_size": 32, "patch_size": 8},
    )
    images = hf.SiglipImageProcessor(size={"height": 32, "width": 32})
    save(folder, hf.SiglipModel(config), hf.SiglipProcessor(images, tokens))


def siglip2(folder):
    """SigLIP 2 NaFlex: pictures in their own shape."""
    tokens = tokenizer(end="<eos>", pad="<pad>", ends=True, length=64)
    config = hf.Siglip2Config(
        text_config=_siglip_text(tokens),
        vision_config={**SIZE, "patch_size": 16, "num_patches": 16},
    )
    images = hf.Siglip2ImageProcessor(patch_size=16, max_num_patches=64)
    save(folder, hf.Siglip2Model(config), hf.Siglip2Processor(images, tokens))


def sentence_clip(folder):
    """The tiny CLIP as sentence-transformers saves one."""
    from sentence_transformers import SentenceTransformer

    inner = make("clip", folder.with_name(folder.name + "-inner"))
    SentenceTransformer(str(inner), device="cpu").save(str(folder))


def open_clip_convnext(folder):
    """An OpenCLIP with a ConvNeXt from timm, and open_clip's own vocabulary."""
    import open_clip
    from safetensors.torch import save_file

    config = {
        "embed_dim": 24,
        "vision_cfg": {
            "timm_model_name": "convnext_atto",
            "timm_model_pretrained": False,
            "timm_pool": "",
            "timm_proj": "linear",
            "image_size": 64,
        },
        "text_cfg": {
            "context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1
        },
    }  # fmt: skip
    described = folder / "open_clip_config.json"
    mean_and_deviation = {"mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25]}
    described.write_text(json.dumps({"model_cfg": config, "preprocess_cfg": mean_and_deviation}))
    model = open_clip.CLIP(**config)
    save_file(
        {name: tensor.contiguous() for name, tensor in model.state_dict().items()},
        folder / "open_clip_model.safetensors",
    )


# --- many vectors per picture --------------------------------------------------------------------


def _paligemma(tokens):
    text = hf.GemmaConfig(
        **SIZE, vocab_size=len(tokens), num_key_value_heads=1, head_dim=16, **ids(tokens)
    )
    vision = hf.SiglipVisionConfig(**SIZE, image_size=56, patch_size=14, projection_dim=32)
    return hf.PaliGemmaConfig(
        text_config=text,
        vision_config=vision,
        image_token_index=tokens.convert_tokens_to_ids("<image>"),
        projection_dim=32,
        hidden_size=32,
    )


def colpali(folder):
    """transformers' ColPali: 4 x 4 patches a picture."""
    tokens = tokenizer(start="<bos>", end="<eos>", pad="<pad>", image_token="<image>")
    images = hf.SiglipImageProcessor(size={"height": 56, "width": 56})
    images.image_seq_length = 16
    config = hf.ColPaliConfig(vlm_config=_paligemma(tokens), embedding_dim=16)
    save(folder, hf.ColPaliForRetrieval(config), hf.ColPaliProcessor(images, tokens))


_QWEN_PICTURE = "<|vision_start|><|image_pad|><|vision_end|>"


def _qwen_tokens():
    return tokenizer(
        ("<|im_start|>", "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>"),
        end="<|im_end|>",
        pad="<|endoftext|>",
        image_token="<|image_pad|>",
        video_token="<|video_pad|>",
    )


def _qwen_config(kind, tokens, vision, **text):
    named = {
        f"{name}_token_id": tokens.convert_tokens_to_ids(f"<|{token}|>")
        for name, token in (
            ("image", "image_pad"),
            ("video", "video_pad"),
            ("vision_start", "vision_start"),
            ("vision_end", "vision_end"),
        )
    }
    rope = {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 1e6}
    words = {
        **SIZE,
        "vocab_size": len(tokens),
        "num_key_value_heads": 1,
        "max_position_embeddings": 4096,
        "rope_parameters": rope,
        **ids(tokens),
        **text,
    }
    return kind(text_config=words, vision_config=vision, **named)


_QWEN2_VISION = {
    "depth": 2, "embed_dim": 32, "hidden_size": 32, "num_heads": 2, "mlp_ratio": 2,
    "patch_size": 14,
}  # fmt: skip


def colqwen2(folder):
    """transformers' ColQwen2: at most 64 patches, in the picture's own shape."""
    tokens = _qwen_tokens()
    inner = _qwen_config(hf.Qwen2VLConfig, tokens, _QWEN2_VISION)
    config = hf.ColQwen2Config(vlm_config=inner, embedding_dim=16)
    images = hf.Qwen2VLImageProcessor(
        patch_size=14, size={"shortest_edge": 56 * 56, "longest_edge": 224 * 224}
    )
    processor = hf.ColQwen2Processor(
        images, tokens, chat_template=CHAT.replace("IMAGE", _QWEN_PICTURE)
    )
    save(folder, hf.ColQwen2ForRetrieval(config), processor)


def sentence_colpali(folder):
    """The tiny ColPali as sentence-transformers saves one."""
    _as_multi_vector("colpali", folder)


def sentence_colqwen2(folder):
    """The tiny ColQwen2 as sentence-transformers saves one."""
    _as_multi_vector("colqwen2", folder)


def _as_multi_vector(name, folder):
    from sentence_transformers import MultiVectorEncoder

    inner = make(name, folder.with_name(folder.name + "-inner"))
    MultiVectorEncoder(str(inner), device="cpu").save(str(folder))


def sentence_colqwen2_5(folder):
    """A projection on a bare Qwen2.5-VL: how sentence-transformers trains late interaction."""
    _projected("qwen2_5_vl", folder)


def colsmol(folder):
    """A projection on a bare Idefics3: pictures in tiles."""
    _projected("idefics3", folder)


def _projected(name, folder):
    from sentence_transformers import MultiVectorEncoder

    inner = make(name, folder.with_name(folder.name + "-inner"))
    MultiVectorEncoder(str(inner), device="cpu").save(str(folder))


# --- chat ----------------------------------------------------------------------------------------


def _chat(folder, model, processor, tokens):
    model.generation_config.eos_token_id = tokens.eos_token_id
    model.generation_config.pad_token_id = tokens.pad_token_id
    save(folder, model, processor)


def _qwen_chat(folder, config, model, processor, *, patch=14, videos=None, **text):
    tokens = _qwen_tokens()
    limits = {
        "patch_size": patch,
        "size": {"shortest_edge": 4 * patch * patch, "longest_edge": 256 * patch * patch},
    }
    made = processor(
        image_processor=hf.Qwen2VLImageProcessor(**limits),
        tokenizer=tokens,
        video_processor=(videos or hf.Qwen2VLVideoProcessor)(**limits),
        chat_template=CHAT.replace("IMAGE", _QWEN_PICTURE),
    )
    _chat(folder, model(config(tokens)), made, tokens)


def qwen2_vl(folder):
    def config(tokens):
        return _qwen_config(hf.Qwen2VLConfig, tokens, _QWEN2_VISION)

    _qwen_chat(folder, config, hf.Qwen2VLForConditionalGeneration, hf.Qwen2VLProcessor)


def qwen2_5_vl(folder):
    vision = {
        "depth": 2, "hidden_size": 32, "out_hidden_size": 32, "intermediate_size": 64,
        "num_heads": 2, "patch_size": 14, "window_size": 56, "fullatt_block_indexes": [1],
    }  # fmt: skip

    def config(tokens):
        return _qwen_config(hf.Qwen2_5_VLConfig, tokens, vision)

    _qwen_chat(folder, config, hf.Qwen2_5_VLForConditionalGeneration, hf.Qwen2_5_VLProcessor)


def qwen3_vl(folder):
    vision = {
        "depth": 2, "hidden_size": 32, "out_hidden_size": 32, "intermediate_size": 64,
        "num_heads": 2, "patch_size": 16, "num_position_embeddings": 16,
        "deepstack_visual_indexes": [0],
    }  # fmt: skip

    def config(tokens):
        return _qwen_config(hf.Qwen3VLConfig, tokens, vision, head_dim=16)

    _qwen_chat(
        folder, config, hf.Qwen3VLForConditionalGeneration, hf.Qwen3VLProcessor,
        patch=16, videos=hf.Qwen3VLVideoProcessor,
    )  # fmt: skip


def llava_onevision(folder):
    tokens = tokenizer(
        ("<|im_start|>",),
        end="<|im_end|>",
        pad="<|endoftext|>",
        image_token="<image>",
        video_token="<video>",
    )
    shapes = [[56, 112], [112, 56], [112, 112]]
    config = hf.LlavaOnevisionConfig(
        text_config=hf.Qwen2Config(
            **SIZE, vocab_size=len(tokens), num_key_value_heads=1,
            max_position_embeddings=4096, **ids(tokens),
        ),
        vision_config=hf.SiglipVisionConfig(**SIZE, image_size=56, patch_size=14),
        image_grid_pinpoints=shapes,
        vision_feature_layer=-1,
        image_token_index=tokens.convert_tokens_to_ids("<image>"),
        video_token_index=tokens.convert_tokens_to_ids("<video>"),
    )  # fmt: skip
    side = {"height": 56, "width": 56}
    processor = hf.LlavaOnevisionProcessor(
        image_processor=hf.LlavaOnevisionImageProcessor(size=side, image_grid_pinpoints=shapes),
        tokenizer=tokens,
        video_processor=hf.LlavaOnevisionVideoProcessor(size=side),
        num_image_tokens=16,
        vision_feature_select_strategy="full",
        chat_template=CHAT.replace("IMAGE", "<image>\n"),
    )
    _chat(folder, hf.LlavaOnevisionForConditionalGeneration(config), processor, tokens)


def idefics3(folder):
    """Idefics3: tiles of 2 x 2 vectors, and one view of the whole picture."""
    tiles = [f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)]
    tokens = tokenizer(
        ("<|im_start|>", *tiles),
        end="<|im_end|>",
        pad="<|endoftext|>",
        length=8192,
        image_token="<image>",
        fake_image_token="<fake_token_around_image>",
        global_image_token="<global-img>",
        end_of_utterance_token="<end_of_utterance>",
    )
    config = hf.Idefics3Config(
        text_config={
            **SIZE, "model_type": "llama", "vocab_size": len(tokens), "num_key_value_heads": 1,
            "max_position_embeddings": 8192, **ids(tokens),
        },
        vision_config={**SIZE, "image_size": 56, "patch_size": 14},
        scale_factor=2,
        image_token_id=tokens.convert_tokens_to_ids("<image>"),
        pad_token_id=tokens.pad_token_id,
        tie_word_embeddings=False,
    )  # fmt: skip
    images = hf.Idefics3ImageProcessor(
        size={"longest_edge": 112}, max_image_size={"longest_edge": 56}
    )
    processor = hf.Idefics3Processor(
        images, tokens, image_seq_len=4, chat_template=CHAT.replace("IMAGE", "<image>")
    )
    _chat(folder, hf.Idefics3ForConditionalGeneration(config), processor, tokens)


# --- text ----------------------------------------------------------------------------------------


def cross_encoder(folder):
    """A BERT that gives a pair of texts one number."""
    tokens = tokenizer(start="[CLS]", end="[SEP]", pad="[PAD]", length=256)
    around = [(token, tokens.convert_tokens_to_ids(token)) for token in ("[CLS]", "[SEP]")]
    tokens.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=around
    )
    config = hf.BertConfig(
        **SIZE, vocab_size=len(tokens), max_position_embeddings=256, num_labels=1,
        pad_token_id=tokens.pad_token_id,
    )  # fmt: skip
    save(folder, hf.BertForSequenceClassification(config), tokens)


MAKERS = {
    maker.__name__: maker
    for maker in (
        clip, siglip, siglip2, sentence_clip, open_clip_convnext,
        colpali, colqwen2, sentence_colpali, sentence_colqwen2, sentence_colqwen2_5, colsmol,
        qwen2_vl, qwen2_5_vl, qwen3_vl, llava_onevision, idefics3,
        cross_encoder,
    )
}  # fmt: skip
NEEDS_TORCHVISION = frozenset({
    "open_clip_convnext", "sentence_colqwen2_5",
    "qwen2_vl", "qwen2_5_vl", "qwen3_vl", "llava_onevision",
})  # fmt: skip
