"""`python -m text2lm` is the command `text2lm`."""

from . import main

main()
