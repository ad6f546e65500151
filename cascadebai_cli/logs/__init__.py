"""Reading users' files of clicks and views; nothing in this room knows of bandits."""
