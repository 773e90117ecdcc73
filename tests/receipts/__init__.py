"""What providers report by themselves."""
