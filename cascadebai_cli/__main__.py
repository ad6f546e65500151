"""`python -m cascadebai_cli` is the console script `cascadebai`."""

from cascadebai_cli.cli.app import main

if __name__ == "__main__":
    main()
