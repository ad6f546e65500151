"""What a config says: fields, checks, sentences, the grid of cells."""
