"""Data, not code: the presets (`<preset>.yaml`) and the bundled examples (`examples/<name>/`)."""
