"""What the theorems promise for an instance."""
