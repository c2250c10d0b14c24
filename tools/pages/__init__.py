"""The documentation's site: pages of the repository, generated reference pages, and reports, built by Sphinx."""
