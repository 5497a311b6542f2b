"""Chat models and rerankers: an endpoint, a local model, and the replies kept from before."""
