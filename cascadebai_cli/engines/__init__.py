"""Ways to run a learner: step by step, or exactly the same law much faster."""
