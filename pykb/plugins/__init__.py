"""What a project is made of: plugins that put files into a plan, and the commands that run them in a chain."""
