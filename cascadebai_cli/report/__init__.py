"""One self-contained page about some studies; knows how a page looks, not where its numbers come from."""
