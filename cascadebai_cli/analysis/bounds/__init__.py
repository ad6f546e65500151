"""What the theorems promise for an instance, next to what a simulation of it shows."""
