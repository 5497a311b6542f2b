"""The sample library: documents about Harbourline Ferries, an operator that does not exist."""
