#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| stepwell_core_fuzz::protobuf(body));
