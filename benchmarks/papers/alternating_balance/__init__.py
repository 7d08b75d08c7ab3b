"""Liu and Vicente, A stochastic alternating balance k-means algorithm for fair clustering."""
