"""Test cases that a document states for implementations of an algorithm, such as those of BBR's draft."""
