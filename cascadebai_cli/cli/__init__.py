"""The command line: its verbs, their options and what they print; only here is Typer used."""
