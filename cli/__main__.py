"""`python -m turnback.cli`."""

from turnback.cli.app import main

if __name__ == "__main__":
    main()
