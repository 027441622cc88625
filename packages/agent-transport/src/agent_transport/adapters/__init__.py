"""Sessions made of agents: a function, a command, and agents of other libraries.

Each module needs the extra of its own name, if it has one, and none imports another: importing
this package imports no agent library.
"""
