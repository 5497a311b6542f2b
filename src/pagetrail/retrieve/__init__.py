"""Compose channels into rankings: the pipeline algebra, fusion, the question's own pointers."""
