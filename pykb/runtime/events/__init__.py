"""Events about objects, aggregated and limited as client-go does it."""
