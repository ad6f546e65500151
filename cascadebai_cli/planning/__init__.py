"""How many page views it takes to find the best items of a log of clicks."""
