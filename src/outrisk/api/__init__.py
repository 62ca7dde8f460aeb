"""The way into OutRisk: what a Python session and the command line both call. One module a task, to start quickly."""
