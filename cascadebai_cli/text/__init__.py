"""Numbers and tables as text, each in one way; knows nothing of what they mean."""
