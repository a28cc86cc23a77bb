"""What the tests of models in files share."""

QUICK = ["--method", "locally-linear-identity", "--jobs", "1", "--quiet"]


def lines_of(capsys):
    """What was printed to stdout, line by line."""
    return capsys.readouterr().out.splitlines()
