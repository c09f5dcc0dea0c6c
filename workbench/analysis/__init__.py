"""Statistics and the findings made with them."""
