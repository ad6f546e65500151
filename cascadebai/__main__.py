"""`python -m cascadebai` is the console script `cascadebai`."""

from runpy import run_module

run_module("cascadebai_cli", run_name="__main__")
