//! The promises of every store, kept by this one: on a directory, and on a disk that dies.

use crate::on_disk::{OnDirectory, OnSimulatedDisk};

mod directory {
    use super::OnDirectory;
    punctual_store_api::store_conformance!(OnDirectory);
}

mod simulated {
    use super::OnSimulatedDisk;
    punctual_store_api::store_conformance!(OnSimulatedDisk);
}

#[test]
fn random_histories_agree_with_the_model() {
    let test = "random_histories_agree_with_the_model";
    punctual_store_api::testing::model::random_histories_agree::<OnDirectory>("punctual-tide", test, 40, 300);
    punctual_store_api::testing::model::random_histories_agree::<OnSimulatedDisk>("punctual-tide", test, 300, 300);
}
