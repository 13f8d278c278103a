//! The same measurements with the allocator that the system has.

#[tokio::main]
async fn main() -> Result<(), bench::Error> {
    bench::run().await
}
