"""The command line: parses arguments, prints, and sets exit codes. No other package does that."""
