"""Files that the tests of the command line share."""

import numpy as np
import pytest

from cli.models import QUICK
from hyperlocal.cli import main
from hyperlocal.datasets import make_banana


@pytest.fixture
def banana_csv(tmp_path):
    X, y = make_banana(200, random_state=0)
    lines = [f"{label},{a:.6f},{b:.6f}" for (a, b), label in zip(X, y, strict=True)]
    path = tmp_path / "banana.csv"
    path.write_text("\n".join(["class,x,y", *lines]))
    return str(path)


@pytest.fixture
def cats_csv(tmp_path):
    """Numbers and text; tame are all with long fur, and heavy ones."""
    rng = np.random.default_rng(0)
    weight, age = rng.normal(4, 1, 90), rng.normal(7, 2, 90)
    fur = rng.choice(["long", "short", "none"], 90)
    tame = np.where((fur == "long") | (weight > 4.5), "yes", "no")
    rows = zip(weight, fur, age, tame, strict=True)
    path = tmp_path / "cats.csv"
    path.write_text(
        "weight,fur,age,tame\n" + "".join(f"{w:.3f},{f},{a:.3f},{t}\n" for w, f, a, t in rows)
    )
    return str(path)


@pytest.fixture
def cats_model(cats_csv, tmp_path):
    path = str(tmp_path / "cats.skops")
    assert main(["fit", cats_csv, "--target", "tame", "--output", path, *QUICK]) == 0
    return path


@pytest.fixture
def flats_csv(tmp_path):
    """Prices of flats by their size and town."""
    rng = np.random.default_rng(0)
    size, town = rng.uniform(20, 150, 300), rng.choice(["here", "there"], 300)
    price = 3000 * size + 90_000 * (town == "here") + 10_000 * rng.normal(size=300)
    rows = zip(size, town, price, strict=True)
    path = tmp_path / "flats.csv"
    path.write_text("size,town,price\n" + "".join(f"{s:.1f},{t},{p:.0f}\n" for s, t, p in rows))
    return str(path)


@pytest.fixture
def flats_model(flats_csv, tmp_path):
    path = str(tmp_path / "flats.skops")
    command = ["fit", flats_csv, "--target", "price", "--output", path, "--calibrate", "0.3"]
    assert main([*command, *QUICK]) == 0
    return path
