"""The top layer: settings, the parent of web and worker, and the first start."""
