#!/usr/bin/env bash
# The compiler of the one build, in the place of rustc: Clippy's. After it rustdoc reads each library and program, with the
# same arguments; `cargo doc` would check all that they depend on once more.
# By Bash, since other shells lose variables with names such as `CARGO_BIN_EXE_mock-llm`.
clippy-driver "$@" || exit
checks=
shift
for argument; do
    shift
    case $previous=$argument in
    *=--test | --cfg=test | --crate-name=build_script_*) exit ;;
    *=--emit=* | -C=incremental=*) ;;
    --crate-type=bin) set -- "$@" bin --document-private-items ;;
    --out-dir=*/debug/deps) checks=true ;;
    *=-C | *=--out-dir) ;;
    -C=*) set -- "$@" "-C$argument" ;;
    *) set -- "$@" "$argument" ;;
    esac
    previous=$argument
done
# `--check` does all but to write the pages, which is most of the work. To rustdoc of a stable release it is unstable.
[ -z "$checks" ] || RUSTC_BOOTSTRAP=1 exec rustdoc -D warnings -Z unstable-options --check "$@"
