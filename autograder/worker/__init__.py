"""The untrusted side: everything here runs in processes that a submission may take over.

Nothing in this folder knows an expected value, a tolerance or a seed, and nothing here decides
a mark. It must never be imported by the grader's process.
"""
