"""The sources' claims: each with its set-up, the printed numbers and ours."""
