"""Matplotlib figures from tidy tables; nothing here simulates or fits."""
