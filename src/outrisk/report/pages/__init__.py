"""The pages: which sections each has, in their order."""
