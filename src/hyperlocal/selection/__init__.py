"""The search for settings: candidates, folds, and rounds on growing samples."""
