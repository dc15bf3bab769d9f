#![no_main]

use libfuzzer_sys::fuzz_target;
use stepwell_core::dialect::Dialect;

fuzz_target!(|body: &[u8]| stepwell_core_fuzz::stream(Dialect::BedrockConverse, body));
