"""The command line: argument parsing, printing, exit codes; nothing else. The only package that prints or exits."""
