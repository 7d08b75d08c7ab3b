"""k-medoids with bounds: the search for sites, and the assignment to them."""
