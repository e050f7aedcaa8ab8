"""What comes in from outside: task folders, CSV files, a benchmark's metrics and its scorer."""
