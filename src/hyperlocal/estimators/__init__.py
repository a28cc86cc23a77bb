"""The estimators: arguments, the chain, fitted attributes; little else."""
