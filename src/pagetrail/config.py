"""Settings: data, validated at the door, frozen, no unknown keys.

Sources, strongest first: arguments, environment (``PAGETRAIL_SECTION__KEY``), ``pagetrail.toml`` in
the working directory, ``pagetrail/config.toml`` in the user's configuration folder, the defaults.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from platformdirs import user_config_path
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from .errors import ConfigError

__all__ = [
    "AnswerSettings",
    "DocumentSettings",
    "ModelSettings",
    "SearchSettings",
    "Settings",
    "load_settings",
]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DocumentSettings(_Section):
    """Reading files; limits hold per worker process."""

    workers: int = Field(0, ge=0, le=256, description="worker processes; 0 means one per core")
    dpi: int = Field(150, ge=36, le=600, description="resolution of page images")
    max_pixels: int = Field(20_000_000, ge=10_000, description="pixel cap of one page image")
    max_file_bytes: int = Field(2_000_000_000, ge=1, description="larger files are refused")
    page_seconds: float = Field(45.0, gt=0, description="wall-clock limit for one page")
    document_memory_mb: int = Field(1500, ge=200, description="address-space growth of a worker")
    office_seconds: float = Field(120.0, gt=0, description="limit for one LibreOffice conversion")
    ocr: bool = Field(True, description="read pages whose text layer is missing or bad")


class SearchSettings(_Section):
    """Ranking pages."""

    candidates: int = Field(50, ge=1, le=10_000, description="pages kept before the answer is read")
    page_cache_mb: int = Field(512, ge=0, description="page images kept on disk")


class AnswerSettings(_Section):
    """Reading answers."""

    pages: int = Field(5, ge=1, le=100, description="pages read for an answer")
    threshold: float | None = Field(
        None, ge=0, le=1, description="abstain below this confidence; unset: as calibrated"
    )


class ModelSettings(_Section):
    """Models that are not built in, and what they may spend in one run of the program."""

    judge: str | None = Field(None, description="chat model that judges pages; see docs/models.md")
    chat: str | None = Field(None, description="chat model that reads and answers")
    reranker: str | None = Field(None, description="cross-encoder that judges pages by their text")
    base_url: str | None = Field(None, description="OpenAI-compatible server for specs without one")
    api_key: SecretStr | None = Field(None, description="its key; unset: see docs/models.md")
    device: str = Field("auto", description="where local models run: auto, cpu, cuda, mps, ...")
    dtype: str = Field("auto", description="number format of local models: auto, float32, ...")
    batch: int = Field(8, ge=1, le=4096, description="most pictures encoded at a time")
    pixels: int = Field(1_000_000, ge=10_000, description="most pixels of a page shown to a model")
    timeout_seconds: float = Field(120.0, gt=0, description="limit for one request")
    retries: int = Field(4, ge=0, le=20, description="repetitions of a request that failed")
    concurrency: int = Field(4, ge=1, le=256, description="requests at a time")
    max_calls: int | None = Field(None, ge=0, description="stop after so many model calls")
    max_tokens: int | None = Field(None, ge=0, description="stop after so many tokens")
    max_cost: float | None = Field(None, ge=0, description="stop after so much money")
    price_in: float = Field(0.0, ge=0, description="price of a million prompt tokens")
    price_out: float = Field(0.0, ge=0, description="price of a million reply tokens")
    cache: bool = Field(True, description="keep replies in the library and use them again")


class Settings(BaseSettings):
    """All settings; `load_settings` reads them from every source."""

    model_config = SettingsConfigDict(
        frozen=True, extra="forbid", env_prefix="PAGETRAIL_", env_nested_delimiter="__"
    )

    documents: DocumentSettings = DocumentSettings()  # type: ignore[call-arg]
    search: SearchSettings = SearchSettings()  # type: ignore[call-arg]
    answer: AnswerSettings = AnswerSettings()  # type: ignore[call-arg]
    models: ModelSettings = ModelSettings()  # type: ignore[call-arg]

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        del dotenv_settings, file_secret_settings
        project = TomlConfigSettingsSource(settings_cls, Path("pagetrail.toml"))
        user = TomlConfigSettingsSource(settings_cls, user_config_path("pagetrail") / "config.toml")
        return init_settings, env_settings, project, user


def load_settings(**overrides: Any) -> Settings:
    """Return the settings from all sources; keyword arguments win.

    Raises:
        ConfigError: A key is unknown or a value is out of bounds; every fault is named.
    """
    sections = ", ".join(Settings.model_fields)
    for name in os.environ:
        section, separator, _ = name.removeprefix("PAGETRAIL_").partition("__")
        known = section.lower() in Settings.model_fields
        if name.startswith("PAGETRAIL_") and separator and not known:
            raise ConfigError(f"bad settings: {name}: no such section; there are {sections}")
    try:
        return Settings(**overrides)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, e['loc'])) or 'settings'}: {e['msg']}" for e in error.errors()
        )
        raise ConfigError(f"bad settings: {faults}") from error
    except ValueError as error:  # malformed TOML
        raise ConfigError(f"bad settings file: {error}") from error
    except OSError as error:
        reason = error.strerror or error
        raise ConfigError(f"bad settings file: {error.filename}: {reason}") from error


def workers(settings: DocumentSettings) -> int:
    """Return how many worker processes to run."""
    return settings.workers or len(os.sched_getaffinity(0))
