"""``python -m pagetrail.cli`` is the ``pagetrail`` command."""

from .app import main

if __name__ == "__main__":
    main()
