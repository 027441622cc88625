"""Load on a real server process beside its peers: `python -m bench`, or `make bench`."""
