"""Tidy tables to matplotlib figures; nothing here simulates or fits."""
