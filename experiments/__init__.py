"""The paper's artefacts: how each is made, what it claims, what came out. Run modules with `python -m`."""
