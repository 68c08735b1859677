"""Pages written from what commands measured and kept in `book/evidence/`: speed, margins, mutants, faults.

Each module has `page(root)`, which reads its table and writes its page.
"""
