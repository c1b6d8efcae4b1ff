"""The labelling page: an HTTP server and its static files. It never loads torch."""
