"""Files to pages: words in blocks with boxes, outline and links, whatever the file holds."""
