"""`python -m haltere` is the command `haltere`."""

from haltere.cli import main

if __name__ == "__main__":
    main()
