"""Files for other programs and for other people: tables, traces in flent's form, reproduction archives."""
