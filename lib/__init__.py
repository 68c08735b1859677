"""The small library that the chapters of Executable Learning Dynamics share."""
