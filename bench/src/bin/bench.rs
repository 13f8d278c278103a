//! The measurements, with the allocator that programs of many threads are advised to have.

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[tokio::main]
async fn main() -> Result<(), bench::Error> {
    bench::run().await
}
