"""Pages to answers: what is asked, what answers it, whether it stands there, whether to say it."""
