"""`python -m swdual`."""

from swdual.cli import main

if __name__ == "__main__":
    main()
