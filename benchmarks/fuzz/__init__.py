"""Random problems of every family against exact rationals (small) and HiGHS (larger).

python -m benchmarks.fuzz --problems 50000            resumable: the same command goes on
python -m benchmarks.fuzz --replay small/grid/17      one problem again, with all its numbers
"""
