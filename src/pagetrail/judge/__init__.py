"""How well a page answers a question: yes or no, a grade, a choice; numbers, or an outcome."""
