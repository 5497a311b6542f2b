"""The command line: data on stdout, talk on stderr, one clear line for every failure.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 partly done.
"""

from . import documents, graph, models, questions, report, upkeep
from .app import app, main

__all__ = ["app", "documents", "graph", "main", "models", "questions", "report", "upkeep"]
