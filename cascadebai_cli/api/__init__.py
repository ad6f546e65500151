"""What `import cascadebai_cli as cb` gives: functions and classes for scripts and notebooks."""
