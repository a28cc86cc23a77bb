"""
A page that reads digits and explains itself
============================================

It needs the compiler ``emcc`` of Emscripten, so it is not run when this page is built::

    python examples/draw_digit.py [PAGE.html]

A person draws a digit; the page shows its label, the scores of all digits, and what each of the
8 × 8 pixels added to a score. The model is a quadratic one of 24 principal components of
scikit-learn's digits, as accurate as an RBF SVM. ``hyperlocal.export.to_wasm`` writes it as a
JavaScript module; the page is one file that contains the module and fetches nothing.

.. image:: /images/draw_digit.png
"""

# sphinx_gallery_thumbnail_path = 'images/draw_digit.png'

from __future__ import annotations

import json
import sys
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from hyperlocal import LocallyLinearSVC
from hyperlocal.export import to_wasm

TEMPLATE = Path(__file__).with_name("draw_digit.html")
N_EXAMPLES = 20


def make_page():
    """The text of the page, the model, and the test rows that the page can show."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0)
    quadratic = LocallyLinearSVC(1, feature_map="quadratic", random_state=0)
    model = make_pipeline(PCA(24, random_state=0), quadratic).fit(X_train, y_train)
    print(f"test accuracy: {model.score(X_test, y_test):.3f}")
    module = to_wasm(model).replace("export async function", "async function")
    page = TEMPLATE.read_text(encoding="utf-8").replace("MODULE\n", module)
    page = page.replace('"ROWS"', json.dumps(X_test[:N_EXAMPLES].tolist()))
    return page, model, X_test[:N_EXAMPLES]


if __name__ == "__main__":
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "draw_digit_page.html")
    page, _, _ = make_page()
    path.write_text(page, encoding="utf-8")
    print(f"wrote {path} ({len(page):,} bytes)")
