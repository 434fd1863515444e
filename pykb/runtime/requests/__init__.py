"""Requests and results of reconciles, the queue of requests, and the delays of retries."""
