"""`python -m autograder`."""

import sys

try:
    from autograder.cli import main

    main()
except KeyboardInterrupt:  # while the modules are loaded; later `main` ends by itself
    print("autograder: interrupted", file=sys.stderr)
    sys.exit(130)
