"""How well a run found what it should: knows the nouns only, so it scores any run."""
