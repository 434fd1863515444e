"""What a project remembers of itself: the file PROJECT, in kubebuilder's version 3."""

FILE_NAME = "PROJECT"
