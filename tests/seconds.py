"""What a test run costs: ``python -m tests.seconds -n 2 -m "not slow"`` prints CPU seconds.

All arguments go to pytest. Elapsed time depends on what else the machine does, CPU time hardly:
on two idle cores a run on two workers takes a little more than half of it.
"""

import os
import subprocess
import sys
import time


def main():
    """Run pytest, print what it and its processes took, and end as it ends."""
    began = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "pytest", *sys.argv[1:]])
    elapsed = time.perf_counter() - began
    used = os.times()
    cpu = used.children_user + used.children_system
    print(f"{cpu:.0f} CPU seconds, {elapsed:.0f} seconds elapsed")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
