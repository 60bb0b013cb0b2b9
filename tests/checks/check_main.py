# SPDX-License-Identifier: Apache-2.0
"""What a check of the sources does with its arguments: usage, its self-test, or the folder to look at."""
import pathlib
import sys


def check_main(usage, check, self_test, fine, min_count=1, counted="sources"):
    """Runs a check and returns its exit status.

    check(root) returns (how many `counted` it looked at, what is wrong); fine(count) is what to print if nothing is.
    Less than min_count: the folder is not the project's, or the check no longer finds what it is for.
    """
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) != 2:
        sys.exit(usage)
    count, wrong = check(pathlib.Path(sys.argv[1]))
    if count < min_count:
        sys.exit(f"only {count} {counted} found below {sys.argv[1]}: the check looks at nothing")
    print("\n".join(wrong) or fine(count))
    return bool(wrong)
