//! The framer and the full path, each for itself: for comparing one commit with another.
//!
//! `cargo bench -p stepwell-core --bench layers`

mod support;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::Duration;
use support::harness::CHUNK;
use support::{stepwell, workload};

const SMALL_CHUNK: usize = 1 << 10;

fn framing(criterion: &mut Criterion) {
    let work = workload::text(20_000);
    let mut group = criterion.benchmark_group("framing");
    group.throughput(Throughput::Bytes(work.bytes.len() as u64));
    for chunk in [SMALL_CHUNK, CHUNK] {
        group.bench_function(BenchmarkId::new("W1", chunk), |bencher| {
            bencher.iter(|| {
                stepwell::frames(&work.bytes, chunk, |data| {
                    black_box(data);
                });
            });
        });
    }
    group.finish();
}

fn full_path(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("full path");
    group.sample_size(20);
    for (name, work) in [
        ("W1", workload::text(20_000)),
        ("W2", workload::calls(1 << 20)),
        ("W4", workload::ag_ui(20_000, 10_000, 0)),
        ("W5", workload::ag_ui(2_000, 0, 2_000)),
    ] {
        group.throughput(Throughput::Bytes(work.bytes.len() as u64));
        group.bench_function(name, |bencher| {
            // Setting up and counting is not in the time.
            bencher.iter_custom(|count| {
                (0..count)
                    .map(|_| stepwell::decode(&work, CHUNK).time)
                    .sum::<Duration>()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, framing, full_path);
criterion_main!(benches);
