#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kube_wire_fuzz::json_object(data));
