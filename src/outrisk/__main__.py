"""`python -m outrisk`: the command line."""

from outrisk.cli import main

if __name__ == "__main__":  # processes that carry out runs import this module, too
    main()
