"""The program that runs a suite inside the sandbox, in two processes; `/app/runner.py` (`start`) starts both.

`supervisor` is the parent's part; the parent hands the tests to the child, which consists of the other modules:
`candidate` (prepares the tests, imports the solution, runs pytest), `reporting` and `variables` (describe a test and an
exception), `instrument` (compiles the tests so that their code confirms its own end), `equality` (sees through objects
that are equal to anything), `integrity` (what the libraries consist of, and functions that stay closed) and `audit`
(the audit hook, and whose code asks).

## What holds

The solution shares a process with the tests that judge it. So nothing that is reported of a test is believed alone:

- A test passed only if its own code said so. At the end of its body stands a call with a token that the supervisor made
  for it, and the supervisor counts these calls between the test's start and finish. The token and the called function
  are constants of the compiled test, and no name leads to them. Assertions report their own failure, whatever catches
  the exception.
- The channel is a socket that cannot be read back. Every line is sealed and numbered; the key is in no Python object. A
  line that is missing, repeated or not sealed is noticed. A forked process cannot continue the channel.
- Frames, the garbage collector's lists, tracebacks' frames, trace and profile functions, the code of tests, code that
  claims a library's file name, native code and a second interpreter raise audit events. A hook, which cannot be
  removed, ends the process at the first such event that the solution causes, or a library on its behalf.
- No name leads to the runner: it is in no module and has no class, and its functions keep what they need where reading
  it is such an event. It has builtins of its own, and so have the tests. Neither process's memory can be opened.
- The tests are not on the disk, and their module is not in `sys.modules`: its substitute there tells the solution
  nothing.
- The contents of pytest, unittest, builtins and the modules that the tests import are compared with what they were
  before: at the end; and the part that assertions rely on at the end of each test and whenever a test looks something
  up in it.
- An object of a class with an equality of its own is compared with decoys; so are `unittest.mock.ANY` and a
  `pytest.approx` that the solution returns. One that is equal to two of them fails the suite. So does one that is both
  less and greater than the same value, that contains anything, or that claims another class.

## What one process cannot hold

- **Native code** can read and write all memory without any event: numpy's strides, `pyarrow.foreign_buffer`, a flaw of
  the interpreter, an extension module in the solution's packages.
- **An object that a test passes to the solution leads to the test**: a function of the test has its module's names, an
  object of a class of the test its methods. The plain names for that are refused in solution.py; a name that is put
  together at run time is not.
- **Other operators**: an object whose `-` returns 0 passes `abs(x - 5) < 1e-9`, and is given the expected value there.
  The same holds for equality between two objects of the solution's own class, and of cells that a library compares.
- **A patch below what the tests call**, deep in a library, that is undone before the end.
- **An assertion in a function that the test passes to the solution** can be swallowed by the solution that calls it.
- **Tests that are made while the suite is imported** (`test_x = make(1)`): no source text shows their end. They are
  believed as pytest reports them, beside the declared ones.
- With a chance of one in nine, an object that adopts the first value that it is compared with. The next comparison
  reveals it.

Where values can be compared outside, they are (`judged_by="values"`).
"""
