"""One self-contained page about some studies: how it looks, not where its numbers come from."""
