"""What the experiments of several chapters have in common:
signals, receptive fields, teachers and students.
"""
