"""The command line killed at random moments, a few times; the bench does it a hundred times."""

import pytest
from crash import kill_repeatedly, write_documents


@pytest.mark.slow
def test_kills_while_adding_lose_nothing(tmp_path):
    documents = tmp_path / "documents"
    write_documents(documents, 8)
    losses = kill_repeatedly(tmp_path / "library", documents, kills=4, seed=3, longest=9.0)
    assert losses.kills == 4
    assert losses.none, losses
