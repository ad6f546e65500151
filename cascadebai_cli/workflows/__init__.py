"""One function a verb: typed arguments in, a typed result out."""
