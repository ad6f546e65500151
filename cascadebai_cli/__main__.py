"""`python -m cascadebai_cli` is the console script `cascadebai`."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        sys.path.append(sys.path.pop(0))  # a `random.py` in this directory must not take the place of Python's own

    from cascadebai_cli.cli.app import main

    main()
