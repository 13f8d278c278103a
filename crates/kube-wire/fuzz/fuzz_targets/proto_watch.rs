#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kube_wire_fuzz::proto_watch(data));
