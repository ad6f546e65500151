"""Numbers and tables as text, each in one way, whatever they mean."""
