"""The work of a controller: requests and results, the queue of requests, and the delays of retries."""
