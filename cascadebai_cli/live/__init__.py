"""A test on a live page: lists to show, clicks to take, and when to stop."""
