"""Running: one scenario (`single`), many of them at once (`executor`), a whole resumable campaign (`campaign`)."""
