"""A file as somebody has it becomes items with clicks and views; it knows nothing of bandits."""
