"""Time and memory as samples, groups, constraints, threads and workers grow in number."""
