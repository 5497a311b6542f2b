"""Pages and questions to vectors: the built-in text encoder, and passages to feed it."""
