"""What the pages of documentation say, held against what there is."""
