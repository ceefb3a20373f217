//! The promises of every store, kept by the fjall store.

mod on_disk;
use on_disk::OnDisk;

punctual_store_api::store_conformance!(OnDisk);

#[test]
fn random_histories_agree_with_the_model() {
    let test = "random_histories_agree_with_the_model";
    punctual_store_api::testing::model::random_histories_agree::<OnDisk>("punctual-store-fjall", test, 60, 300);
}
