"""One small module per subcommand. Heavy imports stand inside the functions, so that --help and errors are quick."""
