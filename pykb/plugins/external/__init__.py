"""Plugins that are executables of their own, by kubebuilder's protocol for external plugins, version v1alpha1.

kubebuilder starts the executable once for each question, in the folder of the project, without arguments. It writes
a JSON object to stdin and reads one from stdout. The protocol is described at
https://book.kubebuilder.io/plugins/extending/external-plugins.
"""
