"""Pages to edges: what the pages of one document have to do with each other."""
