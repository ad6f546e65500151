"""Reading users' files of clicks and views; nothing in this package knows of bandits."""
