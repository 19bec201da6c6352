"""The program that runs a suite inside the sandbox, in two processes; `/app/runner.py` starts both.

`relay` is the parent's; the child is made of the others, which the parent hands over: `judged` (prepares, imports the
solution, runs), `plugin` (how pytest is used), `told` (what is said of a test), `rewriting` and `calls` (the tests'
code confirms itself), `equality` and `decoys` (objects that are equal to anything), `note` (what the libraries are made
of), `watch` and `callers` (the audit hook, and whose code asks), `guards` and `sealing` (functions that stay shut).

## What holds

The solution shares a process with the tests that judge it. So nothing that is told of a test is believed on its own:

- A test passed only if its own code said so: at the end of its body stands a call with a token that the supervisor made
  for it, and the supervisor counts those between its start and its finish. The token and what is called are constants
  of the compiled test, and lead nowhere else. Assertions say themselves that they failed, whatever takes the exception.
- The channel is a socket that cannot be read back, every line sealed and numbered; its key is in no Python object. A
  line that is missing, doubled or not sealed is seen. A forked process cannot go on with it.
- Frames, the garbage collector's lists, tracebacks' frames, trace and profile functions, the code of tests, code that
  gives itself out for a library's, native code and a second interpreter raise audit events; a hook that cannot be
  removed ends the process at the first that the solution, or a library on its behalf, asks for.
- No name leads to the runner: it is in no module, has no class, and its functions hold what they need where reading it
  is such an event. It has builtins of its own, and so have the tests. Neither process's memory can be opened.
- The tests are not on the disk, and their module is not in `sys.modules`: what stands there tells the solution nothing.
- What pytest, unittest, builtins and the modules that the tests import are made of is held against what it was: at the
  end and, for what an assertion rests on, whenever a test looks something up in it, and at the end of each test.
- An object of a class with an equality of its own is asked about decoys, `unittest.mock.ANY` and a `pytest.approx` of
  the solution's too. One that is equal to two of them fails the suite; so does one that comes before and after the
  same, holds whatever it is asked for, or says that it is of another class.

## What one process cannot hold

- **Native code** can read and write all memory without any event: numpy's strides, `pyarrow.foreign_buffer`, a flaw of
  the interpreter, an extension module that the solution's packages bring.
- **What a test hands to the solution leads to the test**: a function of the test's has its module's names, an object of
  a class of the test's its methods. Their plain names in solution.py are refused; a name that is put together is not.
- **Other operators**: an object whose `-` returns 0 passes `abs(x - 5) < 1e-9`, and is told there what is expected. So
  with equality between two objects of the solution's own class, and of cells that a library compares.
- **A patch below what the tests call**, deep in a library, that is taken back before the end.
- **An assertion in a function that the test hands over** can be swallowed by the solution that calls it.
- **Tests made while the suite is imported** (`test_x = make(1)`): no text shows their end. They are believed as pytest
  tells them, beside the declared ones.
- By chance, one in nine: an object that adopts what it is compared with first. It is seen at the next comparison.

Where values can be compared outside, they are (`judged_by="values"`).
"""
