//! What five programs print when they fail, and when they do not: forms with gaps, filled from a seed.

use crate::random::Random;

/// Commands, and what each prints. `{n}` and `{m}` are names, `{T}` and `{U}` types, `{f}` a module, `{d}` and `{e}` numbers.
const FAILURES: [(&str, &[&str]); 5] = [
    (
        "cargo test",
        &[
            "   Compiling shop v0.1.0 (/w/shop)\nerror[E0308]: mismatched types\n --> src/{f}.rs:{d}:{e}\n  |\n{d} |     {n}({m})\n  |     ^^^ expected `{T}`, found `{U}`\n\nFor more information about this error, try `rustc --explain E0308`.\nerror: could not compile `shop` (lib) due to 1 previous error\n",
            "error[E0425]: cannot find value `{n}` in this scope\n --> src/{f}.rs:{d}:{e}\n  |\n{d} |     {n} + 1\n  |     ^^^ not found in this scope\n\nerror: could not compile `shop` (lib) due to 1 previous error; 2 warnings emitted\n",
            "error[E0599]: no method named `{n}` found for struct `{T}` in the current scope\n --> src/{f}.rs:{d}:{e}\n\nSome errors have detailed explanations: E0308, E0599.\nerror: could not compile `shop` (lib test) due to {e} previous errors\n",
            "error[E0382]: borrow of moved value: `{n}`\n --> src/{f}.rs:{d}:{e}\n  |\n  |     move occurs because `{n}` has type `{T}`, which does not implement the `Copy` trait\n\nerror: could not compile `shop` (lib) due to 1 previous error\n",
            "error[E0433]: failed to resolve: use of unresolved module or unlinked crate `{n}`\n --> src/{f}.rs:1:5\n\nerror: could not compile `shop` (bin \"shop\") due to 1 previous error\n",
            "error[E0277]: the trait bound `{T}: {U}` is not satisfied\n --> src/{f}.rs:{d}:{e}\n\nerror: could not compile `shop` (lib) due to 1 previous error\n",
            "running {d} tests\ntest {f}::tests::{n}_{m} ... FAILED\ntest {f}::tests::{m} ... ok\n\nfailures:\n\n---- {f}::tests::{n}_{m} stdout ----\n\nthread '{f}::tests::{n}_{m}' (48{d}) panicked at src/{f}.rs:{d}:{e}:\nassertion `left == right` failed\n  left: {d}\n right: {e}\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\n\nfailures:\n    {f}::tests::{n}_{m}\n\ntest result: FAILED. {d} passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.{e}s\n\nerror: test failed, to rerun pass `--lib`\n",
            "running 1 test\ntest {n} ... FAILED\n\nfailures:\n\n---- {n} stdout ----\n\nthread '{n}' (77{d}) panicked at tests/{f}.rs:{d}:{e}:\ncalled `Result::unwrap()` on an `Err` value: Os { code: 2, kind: NotFound, message: \"No such file or directory\" }\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.0{e}s\n\nerror: test failed, to rerun pass `--test {f}`\n",
            "error: unused variable: `{n}`\n --> src/{f}.rs:{d}:{e}\n  |\n  = note: `-D unused-variables` implied by `-D warnings`\n\nerror: could not compile `shop` (lib) due to 1 previous error\n",
            "error: couldn't read `src/{f}.rs`: No such file or directory (os error 2)\n\nerror: could not compile `shop` (lib) due to 1 previous error\n",
        ],
    ),
    (
        "python -m pytest -q",
        &[
            "F..\n=================================== FAILURES ===================================\n___________________________ test_{n}_{m} ___________________________\n\n    def test_{n}_{m}():\n>       assert {n}({d}) == {e}\nE       assert {d} == {e}\n\ntests/test_{f}.py:{d}: AssertionError\n=========================== short test summary info ============================\nFAILED tests/test_{f}.py::test_{n}_{m} - assert {d} == {e}\n1 failed, 2 passed in 0.{d}s\n",
            "E\n==================================== ERRORS ====================================\n_____________________ ERROR collecting tests/test_{f}.py ______________________\nImportError while importing test module '/w/tests/test_{f}.py'.\nHint: make sure your test modules/packages have valid Python names.\nTraceback:\ntests/test_{f}.py:1: in <module>\n    import {n}\nE   ModuleNotFoundError: No module named '{n}'\n=========================== short test summary info ============================\nERROR tests/test_{f}.py\n!!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!\n1 error in 0.{d}s\n",
            "F\n=================================== FAILURES ===================================\n___________________________________ test_{n} ___________________________________\n\n    def test_{n}(tmp_path):\n>       {m}(tmp_path)[\"{n}\"]\nE       KeyError: '{n}'\n\ntests/test_{f}.py:{d}: KeyError\n=========================== short test summary info ============================\nFAILED tests/test_{f}.py::test_{n} - KeyError: '{n}'\n1 failed in 0.{e}s\n",
            "F\n=================================== FAILURES ===================================\n___________________________________ test_{m} ___________________________________\n>       {n}.{m}()\nE       AttributeError: 'NoneType' object has no attribute '{m}'\n\n{f}.py:{d}: AttributeError\n=========================== short test summary info ============================\nFAILED tests/test_{f}.py::test_{m} - AttributeError: 'NoneType' object has no attribute '{m}'\n1 failed, {d} passed in {e}.1s\n",
            "F\n>       raise ValueError(\"{n} must not be negative\")\nE       ValueError: {n} must not be negative\n\n{f}.py:{d}: ValueError\n=========================== short test summary info ============================\nFAILED tests/test_{f}.py::test_{n}_{m} - ValueError: {n} must not be negative\n1 failed in 0.{d}s\n",
            "ERROR: usage: __main__.py [options] [file_or_dir] [file_or_dir] [...]\n__main__.py: error: unrecognized arguments: --{n}\n  inifile: None\n  rootdir: /w\n",
            "E   fixture '{n}_{m}' not found\n>   available fixtures: cache, capfd, monkeypatch, tmp_path\n=========================== short test summary info ============================\nERROR tests/test_{f}.py::test_{n}\n{d} passed, 1 error in 1.{e}s\n",
        ],
    ),
    (
        "npx tsc --noEmit",
        &[
            "src/{f}.ts({d},{e}): error TS2322: Type '{T}' is not assignable to type '{U}'.\n",
            "src/{f}.ts({d},{e}): error TS2339: Property '{n}' does not exist on type '{T}'.\n",
            "src/{f}.ts({d},{e}): error TS2304: Cannot find name '{n}'.\nsrc/{f}.ts({e},1): error TS2304: Cannot find name '{m}'.\n",
            "src/{f}.ts(1,{e}): error TS2307: Cannot find module './{n}' or its corresponding type declarations.\n",
            "src/{f}.ts({d},{e}): error TS2345: Argument of type '{T}' is not assignable to parameter of type '{U}'.\n  Property '{n}' is missing in type '{T}' but required in type '{U}'.\n",
            "src/{f}.ts({d},{e}): error TS18047: '{n}' is possibly 'null'.\n",
            "src/{f}.ts({d},{e}): error TS2554: Expected {e} arguments, but got {d}.\n",
            "src/{f}.ts({d},{e}): error TS7006: Parameter '{n}' implicitly has an 'any' type.\n",
            "src/{f}.ts({d},{e}): error TS1005: ';' expected.\n",
        ],
    ),
    (
        "npx eslint .",
        &[
            "\n/w/src/{f}.ts\n  {d}:{e}  error  '{n}' is assigned a value but never used  @typescript-eslint/no-unused-vars\n\n✖ 1 problem (1 error, 0 warnings)\n\n",
            "\n/w/src/{f}.js\n  {d}:{e}  error    '{n}' is not defined  no-undef\n  {e}:1  warning  Unexpected console statement  no-console\n\n✖ 2 problems (1 error, 1 warning)\n\n",
            "\n/w/src/{f}.tsx\n  {d}:{e}  error  React Hook \"{n}\" is called conditionally. React Hooks must be called in the exact same order in every component render  react-hooks/rules-of-hooks\n\n✖ 1 problem (1 error, 0 warnings)\n\n",
            "\n/w/src/{f}.ts\n  {d}:{e}  error  Unexpected any. Specify a different type  @typescript-eslint/no-explicit-any\n  {e}:{e}  error  Expected '===' and instead saw '=='  eqeqeq\n\n✖ 2 problems (2 errors, 0 warnings)\n  1 error and 0 warnings potentially fixable with the `--fix` option.\n\n",
            "\n/w/src/{f}.ts\n  {d}:{e}  error  Parsing error: Unexpected token, expected \",\"\n\n✖ 1 problem (1 error, 0 warnings)\n\n",
            "\n/w/src/{f}.ts\n  {d}:{e}  error  Prefer named exports over the default one in {n}  import/no-default-export\n\n✖ 1 problem (1 error, 0 warnings)\n\n",
        ],
    ),
    (
        "go test ./...",
        &[
            "# shop/{f}\n./{f}.go:{d}:{e}: undefined: {n}\nFAIL\tshop/{f} [build failed]\nFAIL\n",
            "# shop/{f}\n./{f}.go:{d}:{e}: cannot use {n} (variable of type {T}) as {U} value in argument to {m}\nFAIL\tshop/{f} [build failed]\nFAIL\n",
            "# shop/{f}\n./{f}.go:{d}:{e}: declared and not used: {n}\nFAIL\tshop/{f} [build failed]\nFAIL\n",
            "--- FAIL: Test{T}{U} (0.0{e}s)\n    {f}_test.go:{d}: {n} = {d}, want {e}\nFAIL\nFAIL\tshop/{f}\t0.0{d}s\nFAIL\n",
            "--- FAIL: Test{T} (0.00s)\npanic: runtime error: invalid memory address or nil pointer dereference [recovered]\n\tpanic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV: segmentation violation code=0x1 addr=0x{d} pc=0x51{e}a4]\n\ngoroutine {d} [running]:\nFAIL\tshop/{f}\t0.01{e}s\nFAIL\n",
            "--- FAIL: Test{T} (0.00s)\npanic: runtime error: index out of range [{d}] with length {e} [recovered]\n\ngoroutine {d} [running]:\nFAIL\tshop/{f}\t0.01{e}s\nFAIL\n",
            "{f}.go:{e}:2: no required module provides package example.org/{n}/{m}; to add it:\n\tgo get example.org/{n}/{m}\nFAIL\tshop/{f} [setup failed]\nFAIL\n",
            "--- FAIL: Test{T}{U} (0.0{e}s)\n    {f}_test.go:{d}: unexpected error: open testdata/{n}.json: no such file or directory\nFAIL\tshop/{f}\t0.2{d}s\nFAIL\n",
        ],
    ),
];
const SUCCESSES: [(&str, &str); 5] = [
    (
        "cargo test",
        "running {d} tests\ntest result: ok. {d} passed; 0 failed; 0 ignored; 0 measured; finished in 0.{e}s\n",
    ),
    ("rg -n error src", "src/{f}.rs:{d}:    // error: {n} must come before {m} in every {T}\n"),
    ("git log --oneline", "a1b2c3{d} Fix the error of {n} when the {m} failed\n"),
    ("npx tsc --noEmit", ""),
    ("go test ./...", "ok  \tshop/{f}\t0.{e}s\n"),
];
const VERBS: [&str; 16] = [
    "load", "parse", "send", "merge", "open", "close", "price", "count", "render", "retry", "split", "sign", "rank",
    "store", "guess", "pack",
];
const NOUNS: [&str; 20] = [
    "order", "invoice", "cart", "ticket", "route", "page", "user", "token", "banner", "report", "cache", "header",
    "queue", "photo", "coupon", "region", "draft", "label", "stream", "budget",
];

/// Returns the command and the output of a failure.
pub(super) fn failure(random: &mut Random) -> (&'static str, String) {
    let (command, forms) = random.pick(&FAILURES);
    let form = random.pick(forms);
    (command, filled(form, random))
}

/// Returns the command and the output of what did not fail.
pub(super) fn success(random: &mut Random) -> (&'static str, String) {
    let (command, form) = random.pick(&SUCCESSES);
    (command, filled(form, random))
}

/// Returns the path of a file without a folder and an extension.
pub(super) fn module(random: &mut Random) -> String {
    format!("{}_{}", random.pick(&NOUNS), random.pick(&NOUNS))
}

fn filled(form: &str, random: &mut Random) -> String {
    let mut text = form.to_owned();
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    for gap in ["{n}", "{m}"] {
        text = text.replace(gap, &format!("{}_{}", random.pick(&VERBS), random.pick(&NOUNS)));
    }
    for gap in ["{T}", "{U}"] {
        text = text.replace(gap, &(capital(NOUNS[random.below(20)]) + &capital(NOUNS[random.below(20)])));
    }
    for gap in ["{d}", "{e}"] {
        text = text.replace(gap, &(1 + random.below(90)).to_string());
    }
    text.replace("{f}", &module(random))
}
