#!/usr/bin/env bash
# The compiler of the one build, in the place of rustc: Clippy's. After it rustdoc reads each library and program, with the
# same arguments; `cargo doc` would check all that they depend on once more.
# By Bash, since other shells lose variables with names such as `CARGO_BIN_EXE_mock-llm`.
clippy-driver "$@" || exit
shift
for argument; do
    shift
    case $previous=$argument in
    *=--test | --cfg=test | --crate-name=build_script_*) exit ;;
    *=--emit=* | -C=incremental=*) ;;
    --crate-type=bin) set -- "$@" bin --document-private-items ;;
    --out-dir=*/debug/deps) folder=${argument%/debug/deps}/doc ;;
    *=-C | *=--out-dir) ;;
    -C=*) set -- "$@" "-C$argument" ;;
    *) set -- "$@" "$argument" ;;
    esac
    previous=$argument
done
[ -z "$folder" ] || exec rustdoc -D warnings --out-dir "$folder" "$@"
