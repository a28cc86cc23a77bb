"""The page of examples/draw_digit.py in a browser: it reads digits as the model in Python does."""

import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "draw_digit.py"
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
# One pen stroke from the top of the drawing to its bottom, at the end of the page's script.
STROKE = """
const box = drawing.getBoundingClientRect();
const at = (kind, share) => drawing.dispatchEvent(new PointerEvent(kind, {
  clientX: box.left + box.width * 0.5, clientY: box.top + box.height * share, bubbles: true }));
at("pointerdown", 0.1);
for (let share = 0.1; share < 0.9; share += 0.02) at("pointermove", share);
at("pointerup", 0.9);
</script>
</body>"""

pytestmark = pytest.mark.skipif(
    BROWSER is None or shutil.which("emcc") is None,
    reason="needs Chromium and Emscripten, which pip does not install",
)


@pytest.fixture(scope="module")
def made():
    """The page, the model, and the rows that the page can show."""
    return runpy.run_path(str(EXAMPLE))["make_page"]()


def opened(page, folder, part=""):
    """The text of elements by their id, after the page's scripts have run."""
    path = folder / "page.html"
    path.write_text(page, encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile"]
    command = [
        BROWSER,
        *options,
        "--virtual-time-budget=5000",
        "--dump-dom",
        f"{path.as_uri()}{part}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return dict(re.findall(r'id="(label|column|sum)"[^>]*>([^<]*)<', done.stdout))


def test_the_page_shows_what_the_model_computes(made, tmp_path):
    """Label and score of a test row are those of Python, and the contributions sum to the score."""
    page, model, rows = made
    shown = opened(page, tmp_path, "#example=3")
    assert int(shown["label"]) == int(shown["column"]) == model.predict(rows[3:4])[0]
    pixels, constant, score = map(float, re.findall(r"-?\d+\.\d+", shown["sum"]))
    assert score == pytest.approx(model.decision_function(rows[3:4]).max(), abs=2e-3)
    assert pixels + constant == pytest.approx(score, abs=2e-3)


def test_a_drawn_stroke_is_a_one(made, tmp_path):
    """A vertical stroke of the pen is read as the digit one, and explained."""
    shown = opened(made[0].replace("</script>\n</body>", STROKE), tmp_path)
    assert shown["label"] == "1"
    assert "score" in shown["sum"]
