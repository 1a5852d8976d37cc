"""A class of submissions: what to grade, who grades it, and what came out.

Each submission has one result file, written whole or not at all. Those files are the only memory of a
run: whatever is lost besides them, a worker, a scheduler or the whole process, costs time alone.

On a cluster with Slurm, without Dask (all machines see the same folders):

    sbatch --array=1-8 --wrap 'python -m autograder batch CLASS --shard $SLURM_ARRAY_TASK_ID/8'
"""
