"""What lives in a notebook's output: cards that stay current, streams that end, and (issue by issue) widgets."""
