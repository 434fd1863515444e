"""IR to IR, each step one module: markers applied, references resolved, what the apiserver would refuse found."""
