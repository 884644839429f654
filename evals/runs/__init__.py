"""What is kept of a run: its record on disk, its metrics and gates, its calibration state."""
