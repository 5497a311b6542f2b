"""Pagetrail: ask your documents; get an answer, and the trail of pages behind it."""

__version__ = "0.1.0"
