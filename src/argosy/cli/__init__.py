"""The command line: one file a command group; parse, call one function, print. No logic."""
