"""How a submission's kernels become functions that the interpreter runs.

Triton's interpreter reads the source of a kernel again, changes its assignments, and compiles it, in
every run anew: a battery is dozens of runs of small programs, for which that takes as long as the
running. Here the change is made to the tree that the loader has. Tried on Triton 3.6.0, 3.7.1, 3.8.0
and 3.9.0. Must never give other code or other line numbers than Triton would.
"""

import ast

from triton.runtime import interpreter as triton_interpreter

from autograder.worker import loader

# Names that the interpreter needs in a kernel's module. The second is no identifier: the language
# must be among the module's values, also where the learner imports it under no name of its own.
NEEDED = {"interpreter_semantic": "interpreter_semantic", "the interpreter's language": "tl"}


def install() -> None:
    """Once, before a submission is loaded."""
    _no_borrowed_names()
    _kernels_changed_before_they_are_compiled()


def _lend_names(module: dict) -> None:
    for name, source in NEEDED.items():
        module[name] = getattr(triton_interpreter, source)


def _no_borrowed_names() -> None:
    """The interpreter copies its own globals (np, math, …) into the module of each kernel.

    There they would stand in for an import that the learner forgot. The kernel is compiled with
    them, then they are taken out again.
    """
    compile_and_exec = triton_interpreter.FunctionRewriter._compile_and_exec

    def _compile_and_exec(self, tree):
        names = self.fn.__globals__
        own = set(names)
        try:
            function = compile_and_exec(self, tree)
            # As text, which it would be now, only `tl.constexpr` is known and no other spelling.
            function.__annotations__ = self.fn.__annotations__
            return function
        finally:
            for name in set(names) - own:
                del names[name]
            _lend_names(names)

    triton_interpreter.FunctionRewriter._compile_and_exec = _compile_and_exec


def _kernels_changed_before_they_are_compiled() -> None:
    """Those that are known by `@triton.jit`; others are left to Triton."""
    rewriter, transformer = triton_interpreter.FunctionRewriter, triton_interpreter.ASTTransformer
    rewrite_ast, visit_assign = rewriter.rewrite_ast, transformer.visit_Assign
    changed: set[tuple[str, str, int]] = set()

    def visit_Assign(self, node):
        node = visit_assign(self, node)
        _place(node.value, node)
        return node

    def prepare(function: ast.FunctionDef, path: str) -> None:
        if not any(map(_is_jit, function.decorator_list)):
            return
        try:
            rewriter.ast_transformer.visit(function)
        except ValueError:
            return  # Triton refuses what stands in it, and says so when it is called
        first = min(part.lineno for part in (function, *function.decorator_list))
        changed.add((path, function.name, first))

    def rewritten(self):
        code = getattr(self.fn, "__code__", None)
        if code and (code.co_filename, code.co_name, code.co_firstlineno) in changed:
            _lend_names(self.fn.__globals__)
            return self.fn
        return rewrite_ast(self)

    transformer.visit_Assign = visit_Assign
    rewriter.rewrite_ast = rewritten
    loader.prepare = prepare


def _is_jit(decorator: ast.expr) -> bool:
    """`@triton.jit`, with arguments or without."""
    made = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (
        isinstance(made, ast.Attribute)
        and made.attr == "jit"
        and isinstance(made.value, ast.Name)
        and made.value.id == "triton"
    )


def _place(node: ast.AST, parent: ast.AST) -> None:
    """Gives new nodes the place of the statement that they are in; old ones have theirs."""
    if "lineno" not in node._attributes or hasattr(node, "lineno"):
        return
    ast.copy_location(node, parent)
    for child in ast.iter_child_nodes(node):
        _place(child, node)
