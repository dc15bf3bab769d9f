use stepwell_core::run::ExecutingTools;

fn main() {
    let _ = ExecutingTools {};
}
