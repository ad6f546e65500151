"""The Typer application, one file a verb."""
