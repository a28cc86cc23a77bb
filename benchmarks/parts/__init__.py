"""Parts of the scripts: the data and the methods that they measure."""
